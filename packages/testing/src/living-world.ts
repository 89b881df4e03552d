import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { bundleApps } from "@kule/build/bundle-apps";
import { findFreePort } from "@kule/postgres/free-port";
import { addMember } from "./add-member.ts";
import { startProcess, type TestProcess, untilReady } from "./child-process.ts";
import { type RegionWorld, startRegionWorld } from "./region-world.ts";
import { type RoundRobin, startRoundRobin } from "./rig/round-robin.ts";

const root = join(import.meta.dirname, "../../..");

/** Kule as people meet it: the panel, two processes of the API behind a load balancer, an agent and a lab. */
export type LivingWorld = {
  readonly region: RegionWorld;
  readonly balancer: RoundRobin;
  /** Of the panel. */
  readonly url: string;
  /** Kills the region's agent. */
  endAgent(): Promise<void>;
  startAgent(): void;
  /** Ends the second process, and restarts the first with these settings. */
  restartApi(env: Readonly<Record<string, string>>): Promise<void>;
  addPerson(name: string): Promise<{ readonly email: string; readonly password: string }>;
  end(): Promise<void>;
};

export async function startLivingWorld(): Promise<LivingWorld> {
  const [balancerPort, panelPort] = [await findFreePort(), await findFreePort()];
  const url = `http://127.0.0.1:${panelPort}`;
  const publicUrl = `http://127.0.0.1:${balancerPort}/api/v1`;
  const origins: string[] = [];
  const balancer = await startRoundRobin(origins, balancerPort);
  const region = await startRegionWorld({
    apiEnv: { KULE_PUBLIC_URL: publicUrl, KULE_CONSOLE_ORIGINS: url },
    leaseSeconds: 10,
    links: {
      agentToApi: async (origin) => {
        origins.push(origin);
        return balancer.origin;
      },
    },
  });
  const processes: TestProcess[] = [];
  const end = async () => {
    await Promise.all(processes.map((each) => each.end("SIGKILL")));
    await region.end();
    await balancer.close();
  };
  try {
    const second = await region.addApi();
    origins.push(second.origin);
    await bundleApps(["apps/console"]);
    const panel = startProcess("panel", [join(root, "apps/console/dist/main.js")], {
      KULE_API_URL: publicUrl,
      KULE_CONSOLE_PORT: String(panelPort),
      KULE_CONSOLE_SECRET: randomBytes(32).toString("hex"),
    });
    processes.push(panel);
    await untilReady(panel, async () => ((await fetch(`${url}/sign-in`)).ok ? true : undefined));
    let agent = region.startAgent();
    return {
      region,
      balancer,
      url,
      endAgent: () => agent.end("SIGKILL"),
      startAgent() {
        agent = region.startAgent();
      },
      async restartApi(env) {
        await Promise.all([region.api.end(), second.process.end()]);
        origins.splice(1);
        await region.startApi(env);
      },
      async addPerson(name) {
        const email = `${name.toLowerCase()}@kule.example`;
        return addMember(region.organisation, { email, name, role: "member" });
      },
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}
