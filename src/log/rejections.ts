/** The recent rejections as one row, written now and then: a refused request costs none of its own [O7] [C1]. */
import type { Rejection } from "../core/rejections.ts";
import type { Sql } from "./sql.ts";

export class Rejections {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  read(): readonly Rejection[] {
    const row = this.#sql.first<{ list: string }>("SELECT list FROM rejections WHERE id = 1");
    return row === null ? [] : (JSON.parse(row.list) as Rejection[]);
  }

  write(list: readonly Rejection[]): void {
    this.#sql.run(
      "INSERT INTO rejections (id, list) VALUES (1, ?) ON CONFLICT DO UPDATE SET list = excluded.list",
      JSON.stringify(list),
    );
  }
}
