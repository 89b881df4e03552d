// All parts at once, without a process: the API, the agent's rounds, and machines of the lab.

import { type LoadBalancerLoopOptions, runLoadBalancerLoop } from "@kule/agent/load-balancer-loop";
import { machineAsker } from "@kule/agent/load-balancer-machines";
import { memoryLog } from "@kule/agent/testing/memory-log";
import { StoppedClock } from "@kule/agent/testing/stopped-clock";
import { silentAfterAsks } from "@kule/rules/load-balancers/machine-health";
import { expect, test } from "vitest";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { type Subject, vmidOf } from "../job-kinds/scene.ts";
import { loadBalancerCourses } from "./load-balancer-courses.ts";

const course = loadBalancerCourses.find(({ name }) => name === "changed on two machines");

const health = async ({ api, loadBalancer }: Subject) =>
  (await api.get(`/load-balancers/${loadBalancer}/health`)).body;
const machines = async (subject: Subject) =>
  (await health(subject)).machines.map(({ state, role }: Record<string, string>) => [state, role]);

test("the health of a load balancer is what its machines answer in the rounds of the region's agent", {
  timeout: 120_000,
}, async () => {
  await LocalScene.use(async (scene) => {
    if (course === undefined) throw new Error("no course has two machines");
    const subject = await course.begin(scene);
    await scene.work(subject, "LoadBalancerApply");
    let rounds = 0;
    const controlPlane: LoadBalancerLoopOptions["controlPlane"] = {
      loadBalancers: async (body) => {
        const { status, body: answer } = await scene.agentApi.post("/agent/load-balancers", { ...body });
        if (body.after === undefined) rounds += 1;
        return status === 200
          ? { kind: "ok", value: answer, date: null }
          : { kind: "refused", status, code: answer.code, message: JSON.stringify(answer) };
      },
    };
    const clock = new StoppedClock();
    const stop = new AbortController();
    const running = runLoadBalancerLoop(
      {
        controlPlane,
        runtime: clock,
        log: memoryLog().log,
        agentVersion: "0.1.0",
        agentName: "test",
        ask: machineAsker(scene.lab.world.hypervisor, scene.region),
      },
      stop.signal,
    );
    const round = async () => {
      const before = rounds;
      await clock.advance(34_000);
      await expect.poll(() => rounds, { timeout: 60_000 }).toBeGreaterThan(before);
    };
    await round();
    expect(await machines(subject)).toEqual([
      ["serving", "active"],
      ["serving", "standby"],
    ]);
    expect((await health(subject)).listeners).toMatchObject([{ is_open: true }]);
    // The first one: the second has the address then.
    const vmid = await vmidOf(scene, subject);
    scene.lab.lab.control.setPower(vmid, false);
    await scene.owner.query(
      "update load_balancer_sight set answered_at = answered_at - interval '2 minutes' where slot = 1",
    );
    for (let missed = 0; missed < silentAfterAsks; missed += 1) await round();
    const [first, second] = await machines(subject);
    expect([first[0], ...second]).toEqual(["silent", "serving", "active"]);
    expect((await subject.api.get(`/load-balancers/${subject.loadBalancer}`)).body.status).toBe("degraded");
    stop.abort();
    await running;
  });
});
