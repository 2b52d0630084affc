import { expect, test } from "vitest";
import { prometheusText } from "../../src/observe/prometheus.ts";

test("[O8] metrics are Prometheus text: help and type once, labels escaped, nothing for what has no samples", () => {
  const text = prometheusText([
    { name: "a_total", help: "All\nof \\ it.", type: "counter", samples: [{ labels: {}, value: 3 }] },
    { name: "none", help: "None.", type: "gauge", samples: [] },
    {
      name: "b",
      help: "B.",
      type: "gauge",
      samples: [
        { labels: { tenant: 'ac"me\\', state: "line\nbreak" }, value: 0.5 },
        { labels: { tenant: "x", state: "closed" }, value: 1 },
      ],
    },
  ]);
  expect(text).toBe(`# HELP a_total All\\nof \\\\ it.
# TYPE a_total counter
a_total 3
# HELP b B.
# TYPE b gauge
b{tenant="ac\\"me\\\\",state="line\\nbreak"} 0.5
b{tenant="x",state="closed"} 1
`);
});
