/**
 * A test file that takes longer than this, and more than that share of all test files' seconds, is listed below or made
 * quicker. The share is the same on a slow or busy machine, on which each file takes longer.
 */
export const LONGEST_UNLISTED_SECONDS = 20;
export const LARGEST_UNLISTED_SHARE = 0.05;

/**
 * Test files that are not part of `npm test` but of `npm test -- --all`, which CI runs: each with the reason why it is slow
 * and worth it. Browser tests, system tests and the battery's samples are in suites of their own and need no line here.
 */
export const LONG_TESTS: Readonly<Record<string, string>> = {
  "apps/agent/src/claim-loop.test.ts": "waits for real back-offs and leases of a second and more",
  "apps/agent/src/conformance.test.ts":
    "runs the whole conformance suite as a process, once for each way it can end",
  "apps/agent/src/main.test.ts": "starts the agent as a process for each way it begins and ends",
  "apps/api/src/commands/commands.test.ts": "starts serve, worker, migrate and seed as processes",
  "apps/api/src/products/consoles/console-sessions.test.ts":
    "waits for the rounds in which consoles note their bytes",
  "apps/api/src/products/servers/concurrent-creates.test.ts": "2,000 creates by 32 clients",
  "apps/api/src/read-costs.test.ts": "every list and filter of an installation with 20,000 servers",
  "apps/console/src/api-parity.test.ts": "reads the forms of every page in every state",
  "apps/server/src/main.test.ts": "starts each program of the control plane as a process",
  "packages/edge/src/linux-edge.test.ts":
    "real packets through namespaces, and silence that has to be waited for",
  "packages/programs/src/firewalls/filtered-from-start.test.ts":
    "waits for rounds of the hypervisor's firewall at each point where an agent can be killed",
  "packages/programs/src/firewalls/under-traffic.test.ts":
    "real flows through a firewall while its rules change",
  "packages/programs/src/guest-state/real-guest.test.ts": "boots a Linux system and resets it",
  "packages/programs/src/load-balancers/program-with-haproxy.test.ts": "waits for health checks and reloads",
  "packages/programs/src/load-balancers/public-address.test.ts":
    "waits until keepalived notices that the other machine is gone, and is back",
  "packages/programs/src/load-balancers/rendered-configuration.test.ts":
    "starts haproxy or keepalived for each of some sixty configurations",
  "packages/programs/src/load-balancers/real-load-balancer.test.ts":
    "boots the two machines of a load balancer, and resets one",
  "packages/programs/src/load-balancers/status/real-haproxy.test.ts":
    "waits for health checks, and for the reload that fails",
  "packages/programs/src/public-ips/unfiltered-moment.test.ts":
    "waits for rounds of the hypervisor's firewall",
  "packages/programs/src/servers/operations.test.ts":
    "every operation of a server with each fault of the region",
  "packages/proxmox/src/conformance/conformance.test.ts":
    "runs the whole conformance suite once for each endpoint that differs",
  "packages/testing/src/migrations-under-load.test.ts":
    "migrates a table of a million rows that is in use, and waits for locks that are not granted",
  "packages/testing/src/packets/lab-wires.test.ts":
    "real packets between the lab's machines, and silence that has to be waited for",
  "packages/testing/src/real-guests/guest-isolation.test.ts":
    "boots two Linux systems and tries the ways out of them",
  "packages/testing/src/real-guests/guest-life.test.ts":
    "boots a Linux system ten times, as each way to switch it on and off does",
  "packages/testing/src/real-guests/killed-lab.test.ts":
    "kills labs whose guests have booted, and starts them again",
  "packages/testing/src/world-check/database-checks.test.ts":
    "all invariants against each of 220 planted faults",
  "tools/check/src/planted-violations.test.ts":
    "runs each static check on a copy of the tree with a planted fault",
};
