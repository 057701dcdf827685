"""The reader's network: a twelve-layer MiniLM over a question and a passage, with two heads.

`span` marks where an answer begins and ends (the first token: nowhere), `ans` whether there is one; it begins as the
relevance head of the cross-encoder. Checkpoints keep the names of the parameters: renaming one breaks them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

HIDDEN, HEADS, WIDE, LAYERS, EPSILON = 384, 12, 1536, 12, 1e-12
CLASS_TOKEN, SEPARATOR = 101, 102


class Layer(nn.Module):
    """Attention and a wide step, each added to what came in."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.o = nn.Linear(HIDDEN, HIDDEN)
        self.ln1 = nn.LayerNorm(HIDDEN, EPSILON)
        self.i = nn.Linear(HIDDEN, WIDE)
        self.d = nn.Linear(WIDE, HIDDEN)
        self.ln2 = nn.LayerNorm(HIDDEN, EPSILON)

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, _ = hidden.shape
        query, key, value = self.qkv(hidden).view(batch, length, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(batch, length, HIDDEN)
        hidden = self.ln1(hidden + functional.dropout(self.o(mixed), self.dropout, self.training))
        wide = self.d(functional.gelu(self.i(hidden)))
        return self.ln2(hidden + functional.dropout(wide, self.dropout, self.training))


class Reader(nn.Module):
    """The encoder and its two heads."""

    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = dropout
        self.we = nn.Embedding(30522, HIDDEN)
        self.pe = nn.Embedding(512, HIDDEN)
        self.te = nn.Embedding(2, HIDDEN)
        self.ln = nn.LayerNorm(HIDDEN, EPSILON)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(LAYERS))
        self.span = nn.Linear(HIDDEN, 2)
        self.pool = nn.Linear(HIDDEN, HIDDEN)
        self.ans = nn.Linear(HIDDEN, 1)
        nn.init.normal_(self.span.weight, std=0.02)
        nn.init.zeros_(self.span.bias)

    def forward(
        self, ids: torch.Tensor, types: torch.Tensor, attended: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.ln(self.we(ids) + self.pe.weight[: ids.shape[1]] + self.te(types))
        hidden = functional.dropout(hidden, self.dropout, self.training)
        mask = ((1 - attended.float()) * -1e4)[:, None, None, :]
        mask = mask.bfloat16() if torch.is_autocast_enabled("cpu") else mask
        for layer in self.layers:
            hidden = layer(hidden, mask)
        first = functional.dropout(torch.tanh(self.pool(hidden[:, 0])), self.dropout, self.training)
        return self.span(hidden), self.ans(first).squeeze(-1)

    def freeze(self, layers: int = 0) -> None:
        """Leave the embeddings and the lowest layers as they are."""
        frozen: list[nn.Module] = [
            self.we,
            self.pe,
            self.te,
            *([self.ln] if layers else []),
            *list(self.layers)[:layers],
        ]
        for module in frozen:
            module.requires_grad_(False)


def pretrained(folder: Path, dropout: float = 0.1) -> Reader:
    """The network with the weights that `dequantise` wrote; only `span` is new."""
    from safetensors.torch import load_file

    weights: dict[str, torch.Tensor] = load_file(folder / "model.safetensors")
    net = Reader(dropout)
    state = net.state_dict()
    for ours, theirs in (("we", "word"), ("pe", "position"), ("te", "token_type")):
        state[f"{ours}.weight"] = weights[f"embeddings.{theirs}_embeddings.weight"]
    for end in ("weight", "bias"):
        state[f"ln.{end}"] = weights[f"embeddings.LayerNorm.{end}"]
        state[f"pool.{end}"] = weights[f"pooler.dense.{end}"]
        state[f"ans.{end}"] = weights[f"classifier.{end}"]
        for number in range(LAYERS):
            theirs, ours = f"encoder.layer.{number}", f"layers.{number}"
            state[f"{ours}.qkv.{end}"] = torch.cat(
                [weights[f"{theirs}.attention.self.{name}.{end}"] for name in ("query", "key", "value")]
            )
            state[f"{ours}.o.{end}"] = weights[f"{theirs}.attention.output.dense.{end}"]
            state[f"{ours}.ln1.{end}"] = weights[f"{theirs}.attention.output.LayerNorm.{end}"]
            state[f"{ours}.i.{end}"] = weights[f"{theirs}.intermediate.dense.{end}"]
            state[f"{ours}.d.{end}"] = weights[f"{theirs}.output.dense.{end}"]
            state[f"{ours}.ln2.{end}"] = weights[f"{theirs}.output.LayerNorm.{end}"]
    net.load_state_dict(state)
    return net


def load(net: Reader, path: Path) -> dict[str, Any]:
    """Read a checkpoint into the network; embeddings that it leaves out stay. Returns the whole checkpoint."""
    checkpoint: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    state = {name: value.float() for name, value in checkpoint["net"].items()}
    left_out = set(net.load_state_dict(state, strict=False).missing_keys) - {"we.weight", "pe.weight", "te.weight"}
    if left_out:
        raise SystemExit(f"{path} is no checkpoint of this reader: it lacks {', '.join(sorted(left_out))}.")
    return checkpoint
