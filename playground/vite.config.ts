import { defineConfig } from 'vite';

export default defineConfig({
  build: {
    target: 'es2022',
    // Files instead of data: addresses, so that the server's policy and caching apply to them.
    assetsInlineLimit: 0,
    // The editor is one large chunk by nature; everything is served from the same machine.
    chunkSizeWarningLimit: 5000,
    rolldownOptions: {
      onLog(level, log, report) {
        // Hints for server rendering inside libraries; they mean nothing to a page.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log);
      },
    },
  },
  // `npm run dev` beside a running server.
  server: { proxy: { '/graphql': { target: 'http://127.0.0.1:8000', ws: true } } },
});
