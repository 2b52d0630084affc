import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "node",
          include: ["test/{core,providers,cli,crash,mutants}/**/*.test.ts", "test/*.test.ts"],
          environment: "node",
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              bindings: {
                ADMIN_TOKEN: "test-admin-token",
                CONFIG_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
                ALLOW_INSECURE_DESTINATIONS: "true",
              },
            },
          }),
        ],
        test: {
          name: "workers",
          include: ["test/{log,buffer,tenants,sinks,ingress,admin,flow,alerts,observe}/**/*.test.ts"],
        },
      },
    ],
  },
});
