import { expect, test } from "vitest";
import { enable, resume } from "../../../src/core/delivery/machine.ts";
import { always, healthy, poisoned, QUICK, type Reply, script, settingsWith } from "./origins.ts";
import { Simulation } from "./simulation.ts";
import { trace } from "./trace.ts";

const AT_ONCE = settingsWith({ batch: { flushDelayMs: 0 } });
const GONE: Reply = { status: 410 };

test("[V24] a batch that gets 410 is tried as single events; two of them get it: disabled, with an alert", () => {
  const simulation = new Simulation({ settings: AT_ONCE, origin: always(GONE) });
  simulation.arrive(40);
  simulation.run(3_600_000);
  expect(trace(simulation.requests)).toEqual(["fresh 1-40: 410", "isolation 40: 410", "isolation 39: 410"]);
  expect(simulation.state()).toBe("disabled");
  expect(simulation.tenant.alertLog).toEqual(["+destination-disabled"]);
  expect(simulation.tenant.backlog()).toBe(40);
  expect(simulation.tenant.aside.all().every((event) => event.charged === 0)).toBe(true);
});

test("[V24] while only one event waits it goes on along its schedule uncharged, and the next arrival decides", () => {
  const simulation = new Simulation({ settings: QUICK, origin: always(GONE) });
  simulation.arrive(1);
  simulation.run(600_000);
  expect(simulation.requests.length).toBeGreaterThan(4);
  expect(simulation.tenant.aside.all()).toMatchObject([{ seq: 1, charged: 0, reason: "gone" }]);
  expect(simulation.state()).not.toBe("disabled");
  simulation.arrive(1);
  simulation.run(1_000);
  expect(simulation.requests.at(-1)?.seqs).toEqual([2]);
  expect(simulation.state()).toBe("disabled");
});

test("[V24] once one of the single events was accepted, the rest is halved: the one is refused", () => {
  const simulation = new Simulation({ settings: AT_ONCE, origin: poisoned([3], GONE) });
  simulation.arrive(8);
  simulation.run(600);
  expect(trace(simulation.requests)).toEqual([
    "fresh 1-8: 410",
    "isolation 8: 200",
    "isolation 4-7: 200",
    "isolation 1-3: 410",
    "isolation 2-3: 410",
    "isolation 1: 200",
    "isolation 3: 410",
    "isolation 2: 200",
  ]);
  expect(simulation.tenant.aside.all()).toMatchObject([{ seq: 3, charged: 1 }]);
});

test("[V24] an accepted event in between: two others that get 410 disable nothing", () => {
  const settings = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 }, retry: { baseMs: 3_600_000 } });
  const simulation = new Simulation({ settings, origin: script(GONE, { status: 200 }, GONE, { status: 200 }) });
  simulation.arrive(4);
  simulation.run(1_000);
  expect(simulation.state()).toBe("closed");
  expect(simulation.tenant.delivered.size).toBe(2);
});

test("[V24] as a half-open breaker's probe it decides too", () => {
  const settings = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 } });
  const simulation = new Simulation({ settings, origin: always({ status: 500 }) });
  simulation.arrive(30);
  simulation.run(10_000);
  expect(simulation.state()).toBe("open");
  simulation.origin = always(GONE);
  simulation.run(100_000);
  expect(trace(simulation.requests).slice(10)).toEqual(["probe 11: 410", "probe 12: 410"]);
  expect(simulation.state()).toBe("disabled");
});

test("[V24] resume, or a changed url, enables it again; its events stay and are delivered", () => {
  for (const act of [resume, enable]) {
    const simulation = new Simulation({ settings: AT_ONCE, origin: always(GONE) });
    simulation.arrive(40);
    simulation.run(1_000);
    simulation.origin = healthy;
    simulation.run(3_600_000);
    expect(simulation.tenant.delivered.size).toBe(0);
    simulation.act(act);
    simulation.run(60_000);
    expect(simulation.tenant.delivered.size).toBe(40);
    expect(simulation.state()).toBe("closed");
  }
});

test("[V24] it is disabled anew only by two events after that", () => {
  const simulation = new Simulation({ settings: AT_ONCE, origin: always(GONE) });
  simulation.arrive(4);
  simulation.run(1_000);
  simulation.act(resume);
  const count = simulation.requests.length;
  simulation.run(60_000);
  expect(simulation.state()).toBe("disabled");
  expect(simulation.requests.length).toBe(count + 2);
});

test("[V24] [V7] a batch sent again as it was, beside a search event by event, is no part of it: none of its events is lost", () => {
  const settings = settingsWith({ maxInFlight: 2, batch: { maxEvents: 7, flushDelayMs: 0 } });
  const busyThenGone = (seqs: readonly number[], isFirst: boolean): Reply =>
    isFirst ? { status: 503, retryAfterSeconds: 1 } : seqs.length > 1 ? GONE : { status: 200 };
  const simulation = new Simulation({ settings, origin: ({ seqs, number }) => busyThenGone(seqs, number <= 2) });
  simulation.arrive(9);
  simulation.run(3_600_000);
  expect(trace(simulation.requests).slice(2, 4)).toEqual(["fresh 1-7: 410", "isolation 8-9: 410"]);
  expect([...simulation.tenant.delivered.keys()].sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(Math.max(...simulation.accepted.values())).toBe(1);
});
