/** What the operator's surroundings add to a configuration: the settings it is judged by, and the time. */
export interface ConfigContext {
  readonly allowInsecureDestinations: boolean;
  /** Names this Worker is reached by: no URL may point at them [V17]. */
  readonly ownHosts: readonly string[];
  /** The default destination [V5]. */
  readonly origin: {
    readonly baseUrl: string | null;
    readonly token: string | null;
    readonly signingSecret: string | null;
  };
  readonly nowMs: number;
  /** Whether this runtime can keep objects within a jurisdiction [O13]; absent: it can. */
  readonly hasJurisdiction?: (jurisdiction: string) => boolean;
  /** Whether a queue is bound under this name [V19]; absent: nobody knows, and any name is taken. */
  readonly isQueueBound?: (binding: string) => boolean;
}
