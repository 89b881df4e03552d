import type { Answer } from "@kule/api/testing/api-caller";
import type { LocalScene } from "./local-scene.ts";
import { resize } from "./scenarios.ts";
import type { Subject } from "./scene.ts";

/** Its password is sealed to the region's agent, and set by the guest's. */
const WINDOWS = "windows-2022";

/** A Windows server behind a firewall of its own, as the plain one is. */
export async function createWindows(scene: LocalScene, subject: Subject): Promise<void> {
  const { api, name } = subject;
  await scene.reportAgentKey();
  const rules = [{ protocol: "tcp", ports: ["22"], peers: [{ cidr: "192.0.2.0/24" }, { any: true }] }];
  const { firewall } = accepted(await api.post("/firewalls", { name, region: scene.region, rules }), 201);
  const { server } = accepted(
    await api.post("/servers", {
      ...{ name, region: scene.region, image: WINDOWS, package: "l" },
      firewall_ids: [firewall.id],
    }),
  );
  subject.server = server.id;
}

/** Resizes a Linux server for Windows, and requests a rebuild. */
export async function rebuildAsWindows(scene: LocalScene, subject: Subject): Promise<void> {
  await scene.reportAgentKey();
  // From `s` to `m` to `l`.
  for (let times = 0; times < 2; times += 1) {
    await resize(subject);
    await scene.work(subject, "ServerResize");
  }
  const path = `/servers/${subject.server}`;
  const { body } = await subject.api.get(path);
  accepted(await subject.api.post(`${path}/rebuild`, { image: WINDOWS, confirm_name: body.name }));
}

function accepted(answer: Answer, status = 202): Answer["body"] {
  if (answer.status !== status) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
