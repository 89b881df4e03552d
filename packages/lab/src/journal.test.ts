import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, test } from "vitest";
import { call, run } from "./api-client.ts";
import { effects } from "./effects.ts";
import { openJournal, readJournal } from "./journal.ts";
import { type Lab, startLab } from "./lab.ts";
import { newDirectory, newLab } from "./test-lab.ts";

const MAIN = new URL("./main.ts", import.meta.url).pathname;

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

interface LabProcess {
  readonly lab: Lab;
  readonly controlUrl: string;
  readonly pid: number;
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts src/main.ts; the "lab" it returns has only what a client needs. */
async function labProcess(dataDir: string, env: Record<string, string> = {}): Promise<LabProcess> {
  const child = spawn(process.execPath, [MAIN], {
    env: {
      PATH: process.env.PATH,
      KULE_LAB_DIR: dataDir,
      KULE_LAB_PORT: "0",
      KULE_LAB_TIME_SCALE: "0",
      KULE_LAB_CONTROL_PORT: "0",
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  expect(JSON.parse(line)).toMatchObject({ ready: true });
  expect(line).not.toContain("agent=");
  const file = JSON.parse(readFileSync(join(dataDir, "lab.json"), "utf8")) as Record<string, string>;
  const split = (token = ""): [string, string] => [
    token.slice(0, token.indexOf("=")),
    token.slice(token.indexOf("=") + 1),
  ];
  const [tokenId, tokenSecret] = split(file.token);
  const [operatorTokenId, operatorTokenSecret] = split(file.operatorToken);
  const lab = {
    url: file.url,
    fingerprint256: file.fingerprint256,
    tokenId,
    tokenSecret,
    operatorTokenId,
    operatorTokenSecret,
  };
  return {
    lab: lab as unknown as Lab,
    controlUrl: file.controlUrl ?? "",
    pid: child.pid ?? 0,
    end: async (signal) => {
      const exit = once(child, "exit");
      child.kill(signal);
      return ((await exit) as [number | null])[0];
    },
  };
}

describe("the lab as a process", () => {
  test("a SIGKILL mid-clone leaves a locked VM that the token cannot destroy, and loses nothing answered", async () => {
    const dataDir = newDirectory();
    const first = await labProcess(dataDir);
    expect(statSync(join(dataDir, "lab.json")).mode & 0o777).toBe(0o600);
    expect(
      await run(first.lab, "POST /nodes/pve1/qemu/9000/clone", {
        form: { newid: 21200, name: "kept", full: 0 },
      }),
    ).toBe("OK");
    await run(first.lab, "POST /nodes/pve1/qemu/21200/status/start");
    await fetch(`${first.controlUrl}/task-faults`, {
      method: "POST",
      body: JSON.stringify({ type: "qmclone", action: "held", stage: "disk:scsi0" }),
    });
    const clone = await call(first.lab, "POST /nodes/pve1/qemu/9000/clone", {
      form: { newid: 21201, full: 1 },
    });
    // The first disk is copied, the second never will be.
    while ((await call(first.lab, "GET /nodes/pve1/qemu/21201/config")).data?.ide2 === undefined);
    const tagged = await call(first.lab, "PUT /nodes/pve1/qemu/21200/config", {
      form: { tags: "last-answer" },
    });
    expect(tagged.status).toBe(200);
    await first.end("SIGKILL");

    const second = await labProcess(dataDir);
    expect(second.lab).toMatchObject({
      fingerprint256: first.lab.fingerprint256,
      tokenSecret: first.lab.tokenSecret,
    });
    expect((await call(second.lab, "GET /nodes/pve1/qemu/21200/config")).data).toMatchObject({
      name: "kept",
      tags: "last-answer",
    });
    expect((await call(second.lab, "GET /nodes/pve1/qemu/21200/status/current")).data.status).toBe("running");
    const status = await call(second.lab, `GET /nodes/pve1/tasks/${encodeURIComponent(clone.data)}/status`);
    expect(status.data).toMatchObject({ status: "stopped", exitstatus: "unexpected status" });
    expect((await call(second.lab, "GET /nodes/pve1/qemu/21201/config")).data.lock).toBe("clone");
    expect(await run(second.lab, "DELETE /nodes/pve1/qemu/21201?purge=1")).toBe("VM is locked (clone)");
    const again = await call(second.lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 21201 } });
    expect(again.reason).toBe("unable to create VM 21201: config file already exists");
    const sums = effects(readJournal(dataDir));
    expect([sums.clones.get(21200), sums.clones.get(21201), sums.finishedClones.get(21201)]).toEqual([
      1,
      1,
      undefined,
    ]);
    expect(await second.end("SIGTERM")).toBe(0);
  });

  test("a taken port is named together with the variable that changes it", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env.PATH, KULE_LAB_DIR: newDirectory(), KULE_LAB_PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let text = "";
    child.stderr.on("data", (chunk) => {
      text += String(chunk);
    });
    const [code] = (await once(child, "close")) as [number];
    other.close();
    expect([code, text]).toEqual([1, `lab: port ${port} is taken; set KULE_LAB_PORT to another one\n`]);
  });
});

describe("the journal", () => {
  test("replays to the same state", async () => {
    const dataDir = newDirectory();
    const first = await startLab({ dataDir });
    await run(first, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 21210 } });
    const before = first.control.vms();
    await first.stop();
    const second = await startLab({ dataDir });
    expect(second.control.vms()).toEqual(before);
    await second.stop();
  });

  test("counts the starts, so that each assigns MAC addresses of its own", async () => {
    const dataDir = newDirectory();
    const macs: (string | undefined)[] = [];
    for (const newid of [21211, 21212, 21213]) {
      const lab = await startLab({ dataDir, seed: 7 });
      await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid } });
      macs.push(lab.control.vm(newid)?.config.net0);
      await lab.stop();
    }
    expect(new Set(macs).size).toBe(3);
  });

  test("with the same seed gives two labs the same MAC addresses but never the same secret", async () => {
    const [a, b] = [await newLab({ seed: 42 }), await newLab({ seed: 42 })];
    expect(a.control.vm(9000)?.config.net0).toBe(b.control.vm(9000)?.config.net0);
    expect(a.tokenSecret).not.toBe(b.tokenSecret);
  });

  test("truncates a torn last line and continues after it", async () => {
    const dataDir = newDirectory();
    const first = await startLab({ dataDir });
    await first.stop();
    appendFileSync(join(dataDir, "journal.ndjson"), '{"seq":99999,"op":"half');
    const second = await startLab({ dataDir });
    second.control.stealVmid(21220);
    await second.stop();
    const seqs = readJournal(dataDir).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  });

  test("compacts into a snapshot without losing state or history", () => {
    const dataDir = newDirectory();
    const state = new Map<string, unknown>();
    const apply = ([, id, document]: readonly [string, string, unknown]): void => {
      if (document === null) state.delete(id);
      else state.set(id, document);
    };
    const journal = openJournal(dataDir, apply);
    for (let index = 0; index < 10; index++) {
      const change = ["vm", String(index % 3), { index }] as const;
      journal.append(index, { op: "write" }, [change]);
      apply(change);
    }
    journal.compact(() => [...state].map(([id, document]) => ["vm", id, document] as const));
    journal.append(10, { op: "after" }, [["vm", "0", null]]);
    journal.close();
    state.clear();
    let applied = 0;
    openJournal(dataDir, (change) => {
      applied += 1;
      apply(change);
    }).close();
    // Three documents from the snapshot and one line behind it; the history is not replayed.
    expect(applied).toBe(4);
    expect([...state]).toEqual([
      ["1", { index: 7 }],
      ["2", { index: 8 }],
    ]);
    expect(readJournal(dataDir).map(({ op }) => op)).toEqual([...Array<string>(10).fill("write"), "after"]);
  });
});
