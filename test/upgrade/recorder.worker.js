/**
 * The Worker as it is, with a record kept of the calls between it and its objects: `GET /recorded` answers what was
 * called, with which arguments, and what came back. Bytes are written as `{"$bytes": "<base64>"}`.
 */
import worker from "./index.js";

export { OriginGate, TenantBuffer } from "./index.js";

const recorded = [];
let wrapped = null;

export default {
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname === "/recorded") return Response.json(recorded);
    wrapped ??= { ...env, TENANT_BUFFER: recording(env.TENANT_BUFFER) };
    return worker.fetch(request, wrapped, ctx);
  },
};

function recording(namespace) {
  return {
    getByName(object, options) {
      const stub = namespace.getByName(object, options);
      return new Proxy(
        {},
        {
          // A promise that resolves with a stub asks it for `then`, which is no call of its.
          get: (_, method) => (method === "then" ? undefined : (...args) => call(object, stub, method, args)),
        },
      );
    },
  };
}

async function call(object, stub, method, args) {
  const entry = { atMs: Date.now(), object, method, args: plain(args), answer: null };
  recorded.push(entry);
  const answer = await stub[method](...args);
  entry.answer = plain(answer);
  return answer;
}

function plain(value) {
  const copy = (one) => {
    if (typeof one !== "object" || one === null) return one;
    if (one instanceof Uint8Array) return { $bytes: one.toBase64() };
    if (Array.isArray(one)) return one.map(copy);
    return Object.fromEntries(Object.entries(one).map(([name, member]) => [name, copy(member)]));
  };
  return copy(value) ?? null;
}
