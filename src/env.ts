/**
 * Bindings and variables of the Worker, read into `Settings` once per isolate. Nothing else reads `env`.
 *
 * A malformed value counts as absent, which is always the closed side (no admin token: every admin call is refused;
 * no key: no configuration can be opened), and is named in `problems`, which `/healthz` and the admin API show.
 */

/** What the Worker is bound to. Every variable may be missing; the two bindings may not. */
export interface Bindings {
  readonly TENANT_BUFFER: DurableObjectNamespace;
  readonly TENANT_CONFIG: KVNamespace;
  /** Without it each tenant sends one request at a time to a shared host [V27]. */
  readonly ORIGIN_GATE?: DurableObjectNamespace;
  /** Data points of every decision [O8]. */
  readonly METRICS?: AnalyticsEngineDataset;
  /** A queue as destination [V19]; a configuration may name any other binding to a queue as well. */
  readonly DELIVERY_QUEUE?: Queue;
  /** Sends alerts by mail [O9]. */
  readonly ALERT_EMAIL?: SendEmail;
  readonly ADMIN_TOKEN?: string;
  readonly CONFIG_KEY?: string;
  readonly CONFIG_KEY_PREVIOUS?: string;
  readonly ORIGIN_BASE_URL?: string;
  readonly ORIGIN_TOKEN?: string;
  readonly ORIGIN_SIGNING_SECRET?: string;
  readonly SHARED_ORIGIN_HOSTS?: string;
  readonly SHARED_ORIGIN_MAX_IN_FLIGHT?: string;
  readonly PUBLIC_HOSTS?: string;
  readonly ALLOW_INSECURE_DESTINATIONS?: string;
  readonly FIXED_CLOCK_MS?: string;
}

/** A variable that cannot be used as it stands; `message` says what is wrong and what to do, never the value. */
interface SettingProblem {
  readonly setting: string;
  readonly message: string;
}

export interface Settings {
  /** null: no admin call is accepted [O1]. */
  readonly adminToken: string | null;
  /** 32 bytes each. `current` null: configuration can't be written [O3]. */
  readonly configKeys: { readonly current: Uint8Array | null; readonly previous: Uint8Array | null };
  /** The default destination [V5]; `baseUrl` has no trailing slash. */
  readonly origin: {
    readonly baseUrl: string | null;
    readonly token: string | null;
    readonly signingSecret: string | null;
  };
  /** Host names that all tenants send to through one gate, beside the default destination's [V27]. */
  readonly sharedOrigins: { readonly hosts: readonly string[]; readonly maxInFlight: number };
  /** Host names of this Worker, lower case, without port: no destination may point at them [V17]. */
  readonly publicHosts: readonly string[];
  readonly allowInsecureDestinations: boolean;
  /** The time verification uses instead of the clock, for conformance runs. */
  readonly fixedClockMs: number | null;
  readonly problems: readonly SettingProblem[];
}

const SHARED_IN_FLIGHT_DEFAULT = 32;
const SHARED_IN_FLIGHT_MAX = 1_000;

/** A binding by the name a configuration gives it; null where nothing of that name is bound. */
export function bindingOf(env: Bindings, name: string): unknown {
  return Object.hasOwn(env, name) || name in env ? ((env as unknown as Record<string, unknown>)[name] ?? null) : null;
}

/** Whether something of that name is bound that can be sent to as a queue is. */
export function isQueueBound(env: Bindings, name: string): boolean {
  const bound = bindingOf(env, name);
  return typeof bound === "object" && bound !== null && "sendBatch" in bound && typeof bound.sendBatch === "function";
}

const parsedByEnv = new WeakMap<object, Settings>();

/** The settings of this isolate; parsed on the first call for an `env`, remembered after. Never throws. */
export function readSettings(env: Bindings): Settings {
  const known = parsedByEnv.get(env);
  if (known !== undefined) return known;
  const settings = parseSettings(env);
  parsedByEnv.set(env, settings);
  return settings;
}

type BoundThing = "TENANT_BUFFER" | "TENANT_CONFIG" | "ORIGIN_GATE" | "METRICS" | "ALERT_EMAIL" | "DELIVERY_QUEUE";
type Variables = Partial<Record<Exclude<keyof Bindings, BoundThing>, unknown>>;

/** Reads every variable; exported for tests, others call `readSettings`. */
export function parseSettings(variables: Variables): Settings {
  const problems: SettingProblem[] = [];
  const refuse = (setting: string, message: string): null => {
    problems.push({ setting, message });
    return null;
  };
  /** null: absent, empty, or not text. */
  const text = (setting: keyof Variables): string | null => {
    const value = variables[setting];
    if (value === undefined || value === null || value === "") return null;
    if (typeof value !== "string") return refuse(setting, "must be text: set it as a string or a secret");
    return value;
  };
  const token = (setting: keyof Variables): string | null => {
    const value = text(setting);
    if (value === null) return null;
    if (!/^[\x21-\x7e]+$/.test(value)) {
      return refuse(setting, "must be visible ASCII without spaces, as it travels in a header: set another one");
    }
    return value;
  };

  const allowInsecureDestinations = parseFlag("ALLOW_INSECURE_DESTINATIONS", text, refuse);
  return {
    adminToken: token("ADMIN_TOKEN"),
    configKeys: {
      current: parseKey("CONFIG_KEY", text, refuse),
      previous: parseKey("CONFIG_KEY_PREVIOUS", text, refuse),
    },
    origin: {
      baseUrl: parseBaseUrl(text, refuse),
      token: token("ORIGIN_TOKEN"),
      signingSecret: parseSigningSecret(text, refuse),
    },
    sharedOrigins: {
      hosts: parseHosts("SHARED_ORIGIN_HOSTS", text, refuse),
      maxInFlight: parseSharedInFlight(text, refuse),
    },
    publicHosts: parseHosts("PUBLIC_HOSTS", text, refuse),
    allowInsecureDestinations,
    fixedClockMs: parseFixedClock(allowInsecureDestinations, text, refuse),
    problems,
  };
}

type ReadText = (setting: keyof Variables) => string | null;
type Refuse = (setting: string, message: string) => null;

function parseFlag(setting: "ALLOW_INSECURE_DESTINATIONS", text: ReadText, refuse: Refuse): boolean {
  const value = text(setting);
  if (value === null || value === "false") return false;
  if (value === "true") return true;
  refuse(setting, 'must be "true" or "false"; it counts as "false" until then');
  return false;
}

function parseKey(setting: "CONFIG_KEY" | "CONFIG_KEY_PREVIOUS", text: ReadText, refuse: Refuse): Uint8Array | null {
  const value = text(setting);
  if (value === null) return null;
  const advice = "must be 32 bytes in base64: make one with `openssl rand -base64 32`";
  if (!/^[A-Za-z0-9+/]{43}=$/.test(value)) return refuse(setting, advice);
  return Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
}

function parseBaseUrl(text: ReadText, refuse: Refuse): string | null {
  const value = text("ORIGIN_BASE_URL");
  if (value === null) return null;
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return refuse("ORIGIN_BASE_URL", "must be an absolute URL such as https://api.example.com");
  }
  if (url.username !== "" || url.password !== "") {
    return refuse("ORIGIN_BASE_URL", "must not carry credentials: put the token into ORIGIN_TOKEN");
  }
  if (value.includes("?") || value.includes("#")) {
    return refuse("ORIGIN_BASE_URL", "must not have a query or fragment: /internal/webhooks/batch is appended to it");
  }
  return url.href.replace(/\/+$/, "");
}

function parseSigningSecret(text: ReadText, refuse: Refuse): string | null {
  const value = text("ORIGIN_SIGNING_SECRET");
  if (value === null) return null;
  const base64 = value.startsWith("whsec_") ? value.slice("whsec_".length) : value;
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) {
    return refuse("ORIGIN_SIGNING_SECRET", "must be whsec_ followed by base64, as Standard Webhooks writes secrets");
  }
  return value;
}

function parseHosts(
  setting: "PUBLIC_HOSTS" | "SHARED_ORIGIN_HOSTS",
  text: ReadText,
  refuse: Refuse,
): readonly string[] {
  const hosts: string[] = [];
  for (const part of (text(setting) ?? "").split(/[\s,]+/)) {
    if (part === "") continue;
    const url = URL.canParse(`https://${part}/`) ? new URL(`https://${part}/`) : null;
    if (url === null || url.pathname !== "/" || url.username !== "" || url.search !== "" || url.hash !== "") {
      refuse(setting, "must be host names separated by commas, such as hooks.example.com,hooks.example.org");
    } else {
      hosts.push(url.hostname);
    }
  }
  return hosts;
}

function parseSharedInFlight(text: ReadText, refuse: Refuse): number {
  const value = text("SHARED_ORIGIN_MAX_IN_FLIGHT");
  const count = value !== null && /^\d{1,4}$/.test(value) ? Number(value) : 0;
  if (count >= 1 && count <= SHARED_IN_FLIGHT_MAX) return count;
  if (value !== null) {
    refuse("SHARED_ORIGIN_MAX_IN_FLIGHT", `must be a whole number from 1 to ${SHARED_IN_FLIGHT_MAX}`);
  }
  return SHARED_IN_FLIGHT_DEFAULT;
}

function parseFixedClock(allowed: boolean, text: ReadText, refuse: Refuse): number | null {
  const value = text("FIXED_CLOCK_MS");
  if (value === null) return null;
  if (!allowed) {
    return refuse(
      "FIXED_CLOCK_MS",
      "stops the clock of signature checks, and only counts where ALLOW_INSECURE_DESTINATIONS is true: remove it",
    );
  }
  if (!/^\d{1,15}$/.test(value)) return refuse("FIXED_CLOCK_MS", "must be milliseconds since 1970, digits only");
  return Number(value);
}
