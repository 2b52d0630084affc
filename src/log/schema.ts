/**
 * The tables that every tenant's object has, and their versions. Stored schemas carry a version and migrate forward in
 * the constructor; a migration only adds, so that the previous release can still read [O12]. Segments bring their own
 * tables (segments.ts).
 */
import { ADDED_BODY_COLUMNS, FIRST_BODY_COLUMNS } from "./event-row.ts";
import { CHUNK_COLUMNS } from "./segments.ts";
import type { Sql } from "./sql.ts";

const VERSION_1: readonly string[] = [
  `CREATE TABLE tenant (
    id INTEGER PRIMARY KEY CHECK (id = 1), tenant TEXT NOT NULL, record TEXT NOT NULL,
    changed_at_ms INTEGER NOT NULL, untold INTEGER NOT NULL CHECK (untold IN (0, 1))
  ) STRICT`,
  // What was true when the newest body segment was sealed; the rows of an open one go on from there [L3].
  `CREATE TABLE log_state (
    id INTEGER PRIMARY KEY CHECK (id = 1), high_seq INTEGER NOT NULL, offered_bytes INTEGER NOT NULL,
    received_at_ms INTEGER NOT NULL, meter TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE segment (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('body', 'key')), first_seq INTEGER NOT NULL,
    opened_at_ms INTEGER NOT NULL, bytes_before INTEGER NOT NULL,
    sealed_at_ms INTEGER, last_seq INTEGER, size_bytes INTEGER
  ) STRICT`,
  `CREATE TABLE destination (
    name TEXT PRIMARY KEY, incarnation INTEGER NOT NULL, base_seq INTEGER NOT NULL, position_bytes INTEGER NOT NULL,
    offered_extra INTEGER NOT NULL, delivered INTEGER NOT NULL, dead INTEGER NOT NULL, filtered INTEGER NOT NULL,
    purged INTEGER NOT NULL, expired INTEGER NOT NULL, erased INTEGER NOT NULL, aside INTEGER NOT NULL,
    aside_bytes INTEGER NOT NULL, settled_ahead INTEGER NOT NULL, delivery TEXT NOT NULL, meter TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE aside (
    destination TEXT NOT NULL, seq INTEGER NOT NULL, due_at_ms INTEGER NOT NULL, event TEXT NOT NULL,
    attempts TEXT NOT NULL, PRIMARY KEY (destination, seq)
  ) STRICT, WITHOUT ROWID`,
  "CREATE INDEX aside_due ON aside (destination, due_at_ms)",
  `CREATE TABLE kept (${FIRST_BODY_COLUMNS}) STRICT`,
  `CREATE TABLE dead (
    destination TEXT NOT NULL, seq INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('dead', 'expired', 'purged')),
    reason TEXT NOT NULL, died_at_ms INTEGER NOT NULL, expires_at_ms INTEGER NOT NULL, charged INTEGER NOT NULL,
    attempts TEXT NOT NULL, PRIMARY KEY (destination, seq)
  ) STRICT, WITHOUT ROWID`,
  "CREATE INDEX dead_expiry ON dead (expires_at_ms) WHERE state = 'dead'",
  `CREATE TABLE dead_range (
    destination TEXT NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, event_count INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('dead', 'expired', 'purged')), reason TEXT NOT NULL,
    died_at_ms INTEGER NOT NULL, expires_at_ms INTEGER NOT NULL, filter TEXT NOT NULL,
    PRIMARY KEY (destination, first_seq)
  ) STRICT, WITHOUT ROWID`,
  // From which event on a destination had which filter: what it was offered and what it was spared [X7].
  `CREATE TABLE filter_change (
    destination TEXT NOT NULL, from_seq INTEGER NOT NULL, filter TEXT NOT NULL, PRIMARY KEY (destination, from_seq)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE claim (
    destination TEXT NOT NULL, seq INTEGER NOT NULL, until_ms INTEGER NOT NULL, PRIMARY KEY (destination, seq)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE job (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('running', 'done', 'cancelled')),
    call TEXT NOT NULL, event_count INTEGER NOT NULL, done INTEGER NOT NULL, next_seq INTEGER NOT NULL,
    through_seq INTEGER NOT NULL, started_at_ms INTEGER NOT NULL, ended_at_ms INTEGER
  ) STRICT, WITHOUT ROWID`,
  "CREATE TABLE alert (kind TEXT NOT NULL, destination TEXT NOT NULL, raised_at_ms INTEGER NOT NULL, cleared_at_ms INTEGER, detail TEXT NOT NULL, PRIMARY KEY (kind, destination)) STRICT, WITHOUT ROWID",
];

/** Large bodies in chunk rows [V25]; segments that are there get the columns when they are opened. */
const VERSION_2: readonly string[] = [
  ...ADDED_BODY_COLUMNS.map((column) => `ALTER TABLE kept ADD COLUMN ${column}`),
  `CREATE TABLE kept_chunk (${CHUNK_COLUMNS}) STRICT, WITHOUT ROWID`,
  // Bodies that are coming in, and those that go with the last that reads them: their chunks count as nothing.
  "CREATE TABLE upload (id TEXT PRIMARY KEY, segment INTEGER NOT NULL) STRICT, WITHOUT ROWID",
];

/** Alerts that are told of [O9]: the table before stays as it is, for a roll-back. Rejections [O7], changes [O11]. */
const VERSION_3: readonly string[] = [
  `CREATE TABLE told_alert (
    kind TEXT NOT NULL, destination TEXT NOT NULL, subject TEXT NOT NULL, raised_at_ms INTEGER NOT NULL,
    cleared_at_ms INTEGER, level INTEGER NOT NULL, detail TEXT NOT NULL, told_at_ms INTEGER, message TEXT NOT NULL,
    PRIMARY KEY (kind, destination, subject)
  ) STRICT, WITHOUT ROWID`,
  `INSERT INTO told_alert (kind, destination, subject, raised_at_ms, cleared_at_ms, level, detail, told_at_ms, message)
   SELECT kind, destination, '', raised_at_ms, cleared_at_ms, 0, detail, NULL, '' FROM alert`,
  "CREATE TABLE source_heard (source TEXT PRIMARY KEY, heard_at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID",
  "CREATE TABLE rejections (id INTEGER PRIMARY KEY CHECK (id = 1), list TEXT NOT NULL) STRICT",
  `CREATE TABLE change (
    id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, status INTEGER NOT NULL,
    event_count INTEGER
  ) STRICT`,
];

const MIGRATIONS: readonly (readonly string[])[] = [VERSION_1, VERSION_2, VERSION_3];

/** The newest version of the schema this release knows. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The version of an object's tables; 0 where it has none. Reads only: a look-up never costs an unknown name a row. */
export function schemaVersion(sql: Sql): number {
  const table = sql.first("SELECT 1 AS found FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'");
  if (table === null) return 0;
  return sql.first<{ version: number }>("SELECT version FROM schema_version WHERE id = 1")?.version ?? 0;
}

/** Brings an object's tables from `stored` to the newest version; to be called within a transaction. */
export function migrate(sql: Sql, stored: number): void {
  if (stored === 0) {
    sql.setUp(["CREATE TABLE schema_version (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL) STRICT"]);
  }
  for (let version = stored; version < MIGRATIONS.length; version += 1) {
    sql.setUp([
      ...(MIGRATIONS[version] ?? []),
      `INSERT INTO schema_version (id, version) VALUES (1, ${version + 1}) ON CONFLICT (id) DO UPDATE SET version = excluded.version`,
    ]);
  }
}
