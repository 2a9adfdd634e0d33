import { defineConfig } from "vite";

// `npm run dev` shows the console of a server that runs; this is the address of its HTTP port.
const server = process.env["CONSOLE_SERVER"] ?? "http://127.0.0.1:8876";

export default defineConfig(({ command }) => ({
  base: command === "build" ? "/assets/" : "/",
  build: {
    target: "es2023",
    cssTarget: "chrome123",
    outDir: "../src/routebook/console/assets",
    emptyOutDir: true,
    assetsDir: "",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: true,
    rollupOptions: {
      output: {
        entryFileNames: "console-[hash].js",
        chunkFileNames: "[name]-[hash].js",
        assetFileNames: "[name]-[hash][extname]",
      },
    },
  },
  server: {
    proxy: {
      "/v1": { target: server, ws: true },
    },
  },
}));
