import colors from "picocolors";
import type { Screen } from "./screen.ts";
import { type Spillway, TENANT } from "./spillway.ts";
import type { Settings } from "./state.ts";
import { hmac } from "./webhooks.ts";

/** What to try next, while everything stays up. */
export function invite(screen: Screen, spillway: Spillway, settings: Settings): void {
  const body = '{"hello":"spillway"}';
  const address = spillway.addressOf(`/webhook/${TENANT}/internal`);
  const signature = hmac(settings.internalSecret, body, "hex");
  const authorization = `-H 'Authorization: Bearer ${settings.adminToken}'`;
  screen.plain(`
${colors.bold("It stays up. Send an event of your own:")} (sent twice it is a duplicate; with another body, a forgery)

curl -is '${address}' -H 'Content-Type: application/json' -H 'X-Event-ID: hello-1' -H 'X-Event-Type: greeting' -H 'X-Signature: ${signature}' -d '${body}'

${colors.bold("Look at the books, and at the event:")}

curl -s ${authorization} '${spillway.addressOf(`/admin/tenants/${TENANT}/stats`)}'
curl -s ${authorization} '${spillway.addressOf(`/admin/tenants/${TENANT}/events/internal%3Ahello-1`)}'

${colors.bold("For a tenant of your own, as the README has it:")}

export SPILLWAY=${new URL(address).origin} ADMIN_TOKEN=${settings.adminToken}

   webhooks      ${spillway.addressOf(`/webhook/${TENANT}/<source>`).replace(/%3C|%3E/g, (code) => decodeURIComponent(code))}: stripe, github, shopify, slack, internal
   admin API     ${spillway.addressOf("/admin/tenants")}
   state         .spillway/ (delete it to begin anew)

${colors.dim("Ctrl-C ends it.")}
`);
}
