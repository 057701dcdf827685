import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [svelte()],
  // The server answers only to its own page, so the page of the dev server passes for it.
  server: {
    proxy: {
      "/api": { target: "http://127.0.0.1:8477", changeOrigin: true, headers: { origin: "http://127.0.0.1:8477" } },
    },
  },
  build: {
    outDir: "../src/citewell/page/static",
    emptyOutDir: true,
    target: "es2022",
    // No image or font inside of a script or style: the policy of the page allows files of the server only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
