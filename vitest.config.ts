import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "node",
          include: ["test/{core,providers,cli,mutants}/**/*.test.ts", "test/*.test.ts"],
          environment: "node",
        },
      },
      {
        // Real processes, killed and started again: seconds each, and one at a time.
        test: {
          name: "crash",
          include: ["test/crash/**/*.test.ts"],
          environment: "node",
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        // The providers' own packages, which have a lock file of their own: `scripts/test.ts` installs them first.
        test: {
          name: "oracles",
          include: ["test/oracles/**/*.test.ts"],
          environment: "node",
          testTimeout: 30_000,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              // Without a consumer the simulator takes anything and keeps nothing: tests look at what is handed over.
              queueProducers: { DELIVERY_QUEUE: { queueName: "spillway-delivery" } },
              bindings: {
                ADMIN_TOKEN: "test-admin-token",
                CONFIG_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
                ALLOW_INSECURE_DESTINATIONS: "true",
                SHARED_ORIGIN_HOSTS: "shared-1.test,shared-2.test,shared-3.test",
              },
            },
          }),
        ],
        test: {
          name: "workers",
          include: [
            "test/{log,buffer,tenants,sinks,ingress,admin,flow,alerts,observe,gate,sweep,consumer,upgrade,objects}/**/*.test.ts",
          ],
          // The first call of a file loads the whole Worker, which a busy machine takes its time for.
          testTimeout: 30_000,
        },
      },
    ],
  },
});
