import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { call, run } from "../api-client.ts";
import type { Lab } from "../lab.ts";
import { newLab } from "../test-lab.ts";
import { type ByteStream, keyEvent, nextUpdate, openRfb, typeKeys } from "./rfb-client.ts";

const sockets: WebSocket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate();
});

const LOGIN = { user: "ubuntu", password: "open sesame" };

/** A VM from a template, as the agent makes one, running. */
async function runningVm(
  lab: Lab,
  vmid = 20500,
  template = 9000,
  more: Record<string, string> = {},
): Promise<number> {
  const clone = { newid: vmid, name: "web-1", pool: "kule-test", full: 1, storage: "ceph-vm" };
  await call(lab, "POST /pools", { form: { poolid: "kule-test" } });
  expect(await run(lab, `POST /nodes/pve1/qemu/${template}/clone`, { form: clone })).toBe("OK");
  const config = {
    ciuser: LOGIN.user,
    cipassword: LOGIN.password,
    ipconfig0: "ip=10.20.1.14/24,gw=10.20.1.1",
    memory: "2048",
    ...more,
  };
  expect(await run(lab, `POST /nodes/pve1/qemu/${vmid}/config`, { form: config })).toBe("OK");
  expect(await run(lab, `POST /nodes/pve1/qemu/${vmid}/status/start`)).toBe("OK");
  return vmid;
}

interface Opened {
  readonly socket: WebSocket;
  /** Everything that was received so far. */
  text(): string;
  /** Waits until the text that was received after `from` matches. */
  until(pattern: RegExp, from?: number): Promise<string>;
  readonly stream: ByteStream;
  readonly closed: Promise<number>;
}

function open(
  lab: Lab,
  vmid: number,
  proxy: { port: number | string; ticket: string },
  options: { as?: string; node?: string } = {},
): Promise<Opened> {
  const query = new URLSearchParams({ port: String(proxy.port), vncticket: proxy.ticket });
  const path = `/api2/json/nodes/${options.node ?? "pve1"}/qemu/${vmid}/vncwebsocket?${query}`;
  const authorization = options.as ?? `PVEAPIToken=${lab.tokenId}=${lab.tokenSecret}`;
  const socket = new WebSocket(`${lab.url.replace("https", "wss")}${path}`, "binary", {
    rejectUnauthorized: false,
    headers: { authorization },
  });
  sockets.push(socket);
  let bytes = Buffer.alloc(0);
  let taken = 0;
  let wake = (): void => undefined;
  let isClosed = false;
  const closed = new Promise<number>((resolve) =>
    socket.on("close", (code) => {
      isClosed = true;
      wake();
      resolve(code);
    }),
  );
  socket.on("message", (data) => {
    bytes = Buffer.concat([bytes, data as Buffer]);
    wake();
  });
  const news = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  const text = (): string => bytes.toString("utf8");
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("unexpected-response", (_request, response) =>
      reject(new Error(`${response.statusCode} ${response.statusMessage}`)),
    );
    socket.once("open", () =>
      resolve({
        socket,
        closed,
        text,
        until: async (pattern, from = 0) => {
          while (!pattern.test(text().slice(from))) {
            if (isClosed) throw new Error(`closed after ${JSON.stringify(text())}`);
            await news();
          }
          return text().slice(from);
        },
        stream: {
          write: (each) => socket.send(each),
          read: async (length) => {
            while (bytes.length < taken + length) {
              if (isClosed) throw new Error("closed");
              await news();
            }
            taken += length;
            return bytes.subarray(taken - length, taken);
          },
        },
      }),
    );
  });
}

interface Proxy {
  user: string;
  ticket: string;
  port: number;
  upid: string;
  password?: string;
}
const proxyOf = async (
  lab: Lab,
  vmid: number,
  kind: "termproxy" | "vncproxy",
  form: Record<string, string> = {},
): Promise<Proxy> => {
  const answer = await call(lab, `POST /nodes/pve1/qemu/${vmid}/${kind}`, { form });
  expect(answer.status, answer.text).toBe(200);
  return answer.data as Proxy;
};

async function openTerminal(lab: Lab, vmid: number): Promise<Opened> {
  const proxy = await proxyOf(lab, vmid, "termproxy");
  const opened = await open(lab, vmid, proxy);
  opened.socket.send(`${proxy.user}:${proxy.ticket}\n`);
  await opened.until(/^OK/);
  return opened;
}
const type = (opened: Opened, text: string): void =>
  opened.socket.send(`0:${Buffer.byteLength(text)}:${text}`);

/** Types a line and waits for what it leads to. */
async function line(opened: Opened, text: string, until: RegExp): Promise<string> {
  const from = opened.text().length;
  type(opened, `${text}\r`);
  return await opened.until(until, from);
}

async function signIn(opened: Opened, password = LOGIN.password): Promise<string> {
  await line(opened, "", /login: $/);
  await line(opened, LOGIN.user, /Password: $/);
  return await line(opened, password, /\$ $|login: $/);
}

describe("a serial console", () => {
  test("answers OK to the ticket, and nothing more until a key is pressed", async () => {
    const lab = await newLab();
    const opened = await openTerminal(lab, await runningVm(lab));
    await opened.until(/^OKstarting serial terminal on interface serial0[^\n]*\n$/);
    expect(await line(opened, "", /login: $/)).toMatch(/web-1 login: $/);
  });

  test("accepts the password that cloud-init set, and no other", async () => {
    const lab = await newLab();
    const opened = await openTerminal(lab, await runningVm(lab));
    expect(await signIn(opened, "wrong")).toMatch(/Login incorrect/);
    expect(opened.text()).not.toContain("wrong");
    expect(await signIn(opened)).toMatch(/Welcome to Ubuntu 24\.04[\s\S]*ubuntu@web-1:~\$ $/);
  });

  test("reports that the lab has no network for its machines", async () => {
    const lab = await newLab();
    const opened = await openTerminal(lab, await runningVm(lab));
    await signIn(opened);
    const answer = await line(opened, "ping -c 1 10.20.1.1; echo $?", /\$ $/);
    expect(answer).toMatch(
      /ping: the machines of this lab have no network: it was started without wires\r\n2\r\n/,
    );
  });

  test("runs commands over what the machine really is", async () => {
    const lab = await newLab();
    const opened = await openTerminal(lab, await runningVm(lab));
    await signIn(opened);
    const prompt = /\$ $/;
    expect(await line(opened, "cat /etc/os-release", prompt)).toContain('PRETTY_NAME="Ubuntu 24.04');
    expect(await line(opened, "ip a", prompt)).toContain("inet 10.20.1.14/24");
    expect(await line(opened, "free", prompt)).toContain("2097152");
    expect(await line(opened, 'echo "a b" c', prompt)).toContain("\r\na b c\r\n");
    expect(await line(opened, "frobnicate", prompt)).toContain("frobnicate: command not found");
    expect(await line(opened, "\x1b[A\x1b[A", prompt)).toContain("a b c");
    // Written over in the middle: "hostame" and a step back.
    expect(await line(opened, "hostame\x1b[D\x1b[D\x1b[Dn", prompt)).toContain("\r\nweb-1\r\n");
  });

  test("stops what runs on Ctrl-C", async () => {
    const lab = await newLab();
    const opened = await openTerminal(lab, await runningVm(lab));
    await signIn(opened);
    await line(opened, "yes", /y\r\ny\r\n/);
    const from = opened.text().length;
    type(opened, "\x03");
    expect(await opened.until(/\^C\r\n.*\$ $/, from)).toBeTruthy();
  });

  test("does not run ahead of a client that does not read", async () => {
    const lab = await newLab();
    const opened = await openTerminal(lab, await runningVm(lab));
    await signIn(opened);
    await line(opened, "yes", /y\r\ny\r\n/);
    opened.socket.pause();
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
    const grown = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed - before;
    expect(grown / 2 ** 20).toBeLessThan(40);
  });

  test("is one line: a second client gets nothing until the first is closed", async () => {
    const lab = await newLab();
    const vmid = await runningVm(lab);
    const first = await openTerminal(lab, vmid);
    await line(first, "", /login: $/);
    const second = await openTerminal(lab, vmid);
    type(second, "\r");
    await line(first, "ubuntu", /Password: $/);
    expect(second.text()).not.toContain("Password");
    first.socket.close();
    await first.closed;
    expect(await line(second, "", /login: $/)).toMatch(/Login incorrect|login: $/);
  });

  test("survives a reboot and ends with a power-off, which really stops the machine", async () => {
    const lab = await newLab();
    const vmid = await runningVm(lab);
    const opened = await openTerminal(lab, vmid);
    await signIn(opened);
    expect(await line(opened, "reboot", /Linux version[\s\S]*login: $/)).toContain("SeaBIOS");
    expect(lab.journal().filter(({ op }) => op === "guest-rebooted")).toHaveLength(1);
    await signIn(opened);
    type(opened, "poweroff\r");
    await opened.closed;
    expect(lab.control.vm(vmid)?.process).toBeNull();
  });
});

describe("the path to a console", () => {
  test("opens for the right ticket, port, machine and user only", async () => {
    const lab = await newLab();
    const vmid = await runningVm(lab);
    const other = await runningVm(lab, 20501);
    const proxy = await proxyOf(lab, vmid, "termproxy");
    const operator = `PVEAPIToken=${lab.operatorTokenId}=${lab.operatorTokenSecret}`;
    await expect(open(lab, vmid, { ...proxy, ticket: "PVEVNC:00000000::x" })).rejects.toThrow(/401/);
    await expect(open(lab, other, proxy)).rejects.toThrow(/401/);
    await expect(open(lab, vmid, { ...proxy, port: proxy.port + 1 })).rejects.toThrow(/401/);
    await expect(open(lab, vmid, proxy, { as: operator })).rejects.toThrow(/401/);
    await expect(open(lab, vmid, proxy, { as: "nobody" })).rejects.toThrow(/401/);
    await open(lab, vmid, proxy);
    // One listener, one connection.
    await expect(open(lab, vmid, proxy)).rejects.toThrow(/596/);
  });

  test("needs VM.Console", async () => {
    const lab = await newLab();
    lab.control.stealVmid(20520);
    lab.control.restrictAgentToPool("elsewhere");
    const answer = await call(lab, "POST /nodes/pve1/qemu/20520/termproxy");
    expect([answer.status, answer.message]).toEqual([403, expect.stringContaining("VM.Console")]);
  });

  test("closes on a wrong first line", async () => {
    const lab = await newLab();
    const vmid = await runningVm(lab);
    const proxy = await proxyOf(lab, vmid, "termproxy");
    const opened = await open(lab, vmid, proxy);
    opened.socket.send(`root@pam:${proxy.ticket}\n`);
    await opened.closed;
    expect(opened.text()).toBe("");
  });

  test.each(["8.2", "9.0"] as const)(
    "lets no token into a terminal in %s, and reports it beforehand",
    async (version) => {
      const lab = await newLab({ version });
      const vmid = await runningVm(lab);
      expect((await call(lab, "POST /access/vncticket")).status).toBe(501);
      const proxy = await proxyOf(lab, vmid, "termproxy");
      const opened = await open(lab, vmid, proxy);
      opened.socket.send(`${proxy.user}:${proxy.ticket}\n`);
      await opened.closed;
      expect(opened.text()).toBe("");
    },
  );

  test.each(["8.4", "9.2"] as const)("knows POST /access/vncticket in %s", async (version) => {
    const lab = await newLab({ version });
    expect((await call(lab, "POST /access/vncticket")).status).toBe(400);
  });

  test("has a hundred ports and releases them", async () => {
    const lab = await newLab();
    const vmid = await runningVm(lab);
    const ports = new Set<number>();
    for (let n = 0; n < 100; n++) ports.add((await proxyOf(lab, vmid, "termproxy")).port);
    expect([Math.min(...ports), Math.max(...ports), ports.size]).toEqual([5900, 5999, 100]);
    const full = await call(lab, `POST /nodes/pve1/qemu/${vmid}/termproxy`);
    expect([full.status, full.message]).toEqual([500, expect.stringContaining("unable to find free port")]);
  });
});

describe("a screen", () => {
  const windows = { ciuser: "Administrator", cipassword: "Passw0rd" };

  test("shows itself to a viewer with the password", async () => {
    const lab = await newLab();
    const vmid = await runningVm(lab, 20510, 9005, windows);
    const proxy = await proxyOf(lab, vmid, "vncproxy", { websocket: "1", "generate-password": "1" });
    expect(proxy.password).toHaveLength(8);
    const { stream } = await open(lab, vmid, proxy);
    const screen = await openRfb(stream, proxy.password ?? "");
    expect(screen).toEqual({ width: 800, height: 600, name: "QEMU (web-1)" });
    const first = await nextUpdate(stream, screen, false);
    expect([first.width, first.height]).toEqual([800, 600]);
    expect(new Set(first.pixels).size).toBeGreaterThan(4);
  });

  test("refuses another password", async () => {
    const lab = await newLab();
    const vmid = await runningVm(lab, 20510, 9005, windows);
    const proxy = await proxyOf(lab, vmid, "vncproxy", { websocket: "1" });
    const { stream } = await open(lab, vmid, proxy);
    await expect(openRfb(stream, "12345678")).rejects.toThrow("Authentication failed");
  });

  test("accepts the beginning of the ticket where there is no other password", async () => {
    const lab = await newLab({ version: "9.0" });
    const vmid = await runningVm(lab, 20510, 9005, windows);
    const proxy = await proxyOf(lab, vmid, "vncproxy", { websocket: "1" });
    const { stream } = await open(lab, vmid, proxy);
    await openRfb(stream, proxy.ticket.slice(0, 8));
  });

  test("answers keys: Ctrl+Alt+Del, the password, typed text", async () => {
    const lab = await newLab();
    const vmid = await runningVm(lab, 20510, 9005, windows);
    const proxy = await proxyOf(lab, vmid, "vncproxy", { websocket: "1", "generate-password": "1" });
    const { stream } = await open(lab, vmid, proxy);
    const screen = await openRfb(stream, proxy.password ?? "");
    const before = await nextUpdate(stream, screen, false);
    const keys = [0xffe3, 0xffe9, 0xffff];
    for (const key of keys) stream.write(keyEvent(key, true));
    for (const key of keys) stream.write(keyEvent(key, false));
    await nextUpdate(stream, screen, true);
    typeKeys(
      stream,
      [...windows.cipassword].map((each) => each.charCodeAt(0)),
    );
    typeKeys(stream, [0xff0d]);
    // Signed in: most of the picture is the notepad's white page.
    let page = 0;
    for (let tries = 0; tries < 20 && page < 100_000; tries++) {
      const now = await nextUpdate(stream, screen, false);
      page = 0;
      for (let at = 0; at < now.pixels.length; at += 4)
        if (now.pixels.readUInt32LE(at) === 0xffffff) page += 1;
    }
    expect(page).toBeGreaterThan(100_000);
    expect(before.pixels.readUInt32LE(0)).not.toBe(0xffffff);
  });

  test("renders the serial line where that is the display", async () => {
    const lab = await newLab({ version: "9.0" });
    const vmid = await runningVm(lab);
    const proxy = await proxyOf(lab, vmid, "vncproxy", { websocket: "1", "generate-password": "1" });
    const { stream } = await open(lab, vmid, proxy);
    const screen = await openRfb(stream, proxy.password ?? "");
    expect(screen.name).toBe("VM web-1");
    await nextUpdate(stream, screen, false);
    typeKeys(stream, [0xff0d]);
    const changed = await nextUpdate(stream, screen, true);
    expect(changed.pixels.length).toBeGreaterThan(0);
  });
});
