"""The few things a note's file is touched by, as methods: what can fail can be made to fail."""

from __future__ import annotations

import os


class Disk:
    """The file system. Every method that changes something is one step after which a machine may stop."""

    def create(self, name: str, folder: int) -> int:
        """A new file that nobody sees by any name but this one; never one that is there already."""
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)

    def create_unnamed(self, folder: int) -> int | None:
        """A new file in this folder that has no name yet; None where the file system cannot do that."""
        flag = getattr(os, "O_TMPFILE", 0)
        if not flag:
            return None
        try:
            return os.open(".", os.O_WRONLY | flag | os.O_CLOEXEC, 0o600, dir_fd=folder)
        except (OSError, TypeError):
            return None

    def name(self, descriptor: int, name: str, folder: int) -> None:
        """Give an unnamed file its name."""
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)

    def write(self, descriptor: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]

    def fsync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def replace(self, old: str, new: str, folder: int) -> None:
        """The file gets another name; whatever had that name is gone at the same moment."""
        os.replace(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def remove(self, name: str, folder: int) -> None:
        os.unlink(name, dir_fd=folder)
