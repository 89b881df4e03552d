import { newId } from "@kule/api/platform/ids";
import type { ApiCaller } from "@kule/api/testing/api-caller";
import type { TimedCall, TimedCalls } from "@kule/api/testing/proofs/timing";
import type { TwoOrganisations } from "@kule/api/testing/proofs/two-organisations";

export type TimedOperation = {
  readonly name: string;
  readonly calls: TimedCalls;
  /** A call that is answered with an audit row takes longer; fewer of them fit into the time. */
  readonly isMutation: boolean;
};

/**
 * Operations that are called for others' objects and for absent ones, each as a caller with the permission.
 */
export function timedOperations({ a, b }: TwoOrganisations): TimedOperation[] {
  const { owner, viewer } = a.tenant.callers;
  const { standing } = b;
  const asked = (
    name: string,
    caller: ApiCaller,
    method: string,
    path: (id: string) => string,
    foreign: string,
    absent: () => string,
    expected = 404,
    body?: (id: string) => unknown,
  ): TimedOperation => {
    // Each uses one id all the time: generating a new one takes time, too.
    const call =
      (named: string): TimedCall =>
      async () => {
        const { status } = await caller.send(method, path(named), body?.(named));
        if (status !== expected) throw new Error(`${name} of ${named} answered ${status}`);
      };
    return {
      name,
      isMutation: method !== "GET",
      calls: { foreign: call(foreign), absent: call(absent()), control: call(absent()) },
    };
  };
  const id = (prefix: Parameters<typeof newId>[0]) => () => newId(prefix);
  return [
    asked("getServer", viewer, "GET", (each) => `/servers/${each}`, standing.server, id("srv")),
    asked("getJob", viewer, "GET", (each) => `/jobs/${each}`, standing.job, id("job")),
    asked("getNetwork", viewer, "GET", (each) => `/networks/${each}`, standing.network, id("net")),
    asked(
      "getSubnet",
      viewer,
      "GET",
      (each) => `/networks/${a.standing.network}/subnets/${each}`,
      standing.subnet,
      id("sub"),
    ),
    asked("getSshKey", viewer, "GET", (each) => `/ssh-keys/${each}`, standing.ssh_key, id("key")),
    asked("getMember", viewer, "GET", (each) => `/members/${each}`, standing.member, id("mem")),
    asked("getToken", owner, "GET", (each) => `/tokens/${each}`, standing.token, id("tok")),
    asked(
      "listJobs of a resource",
      viewer,
      "GET",
      (each) => `/jobs?resource=${each}`,
      standing.server,
      id("srv"),
      200,
    ),
    asked("deleteServer", owner, "DELETE", (each) => `/servers/${each}`, standing.server, id("srv")),
    asked("cancelJob", owner, "POST", (each) => `/jobs/${each}/cancel`, standing.job, id("job")),
    asked(
      "createServer with a key",
      owner,
      "POST",
      () => "/servers",
      standing.ssh_key,
      id("key"),
      422,
      (each) => ({ ...a.tenant.serverBody(), subnet_id: a.standing.subnet, ssh_key_ids: [each] }),
    ),
  ];
}
