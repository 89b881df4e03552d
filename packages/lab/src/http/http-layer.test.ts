import { connect } from "node:tls";
import { beforeAll, describe, expect, test } from "vitest";
import { call, run } from "../api-client.ts";
import type { Lab } from "../lab.ts";
import { newLab } from "../test-lab.ts";

let lab: Lab;
const PUT_9000 = "PUT /nodes/pve1/qemu/20100/config";
beforeAll(async () => {
  lab = await newLab();
  await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20100, full: 1 } });
});

const description = async (): Promise<unknown> =>
  (await call(lab, "GET /nodes/pve1/qemu/20100/config")).data.description;

/** Sends bytes over TLS and resolves with everything that was received until the server closed. */
async function raw(text: string): Promise<string> {
  const port = Number(new URL(lab.url).port);
  return await new Promise((resolve, reject) => {
    let received = "";
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => socket.write(text));
    socket.on("data", (chunk) => {
      received += chunk.toString();
    });
    socket.on("end", () => resolve(received));
    socket.on("error", reject);
  });
}

describe("the urlencoded decoder", () => {
  const send = async (body: string) =>
    await call(lab, PUT_9000, { body, headers: { "content-type": "application/x-www-form-urlencoded" } });

  test("a raw = truncates a urlencoded value", async () => {
    expect((await send("description=a=b=c")).status).toBe(200);
    expect(await description()).toBe("a");
    await send("description=a%3Db");
    expect(await description()).toBe("a=b");
  });

  test("a semicolon separates parameters like an ampersand", async () => {
    expect((await send("description=first;cores=2")).status).toBe(200);
    expect((await call(lab, "GET /nodes/pve1/qemu/20100/config")).data).toMatchObject({
      description: "first",
      cores: 2,
    });
  });

  test("a plus is a space", async () => {
    await send("description=a+b%2Bc");
    expect(await description()).toBe("a b+c");
  });

  test("an empty value counts as absent, but JSON keeps an empty text", async () => {
    const empty = await send("name=");
    expect([empty.status, empty.reason]).toEqual([
      500,
      "unable to parse value of 'name' - got undefined value",
    ]);
    expect((await call(lab, "POST /pools", { form: { poolid: "" } })).errors).toEqual({
      poolid: "property is missing and it is not optional",
    });
    const json = await call(lab, PUT_9000, { json: { name: "" } });
    expect(json.errors?.name).toContain("valid DNS name");
  });

  test("a repeated key of a list parameter is joined, of another one refused", async () => {
    expect((await send("delete=onboot&delete=startdate")).status).toBe(200);
    const twice = await send("name=a&name=b");
    expect(twice.errors?.name).toBe("type check ('string') failed - got ARRAY");
  });

  test("only 1 and 0 are booleans in a form; JSON has its own", async () => {
    const form = await send("onboot=true");
    expect(form.status).toBe(400);
    expect(form.errors).toEqual({ onboot: "type check ('boolean') failed - got 'true'" });
    expect((await call(lab, PUT_9000, { json: { onboot: true } })).status).toBe(200);
    expect((await call(lab, "GET /nodes/pve1/qemu/20100/config")).data.onboot).toBe(1);
  });

  test("the query wins over the body, and _dc is ignored", async () => {
    const answer = await call(lab, `${PUT_9000}?description=query&_dc=123`, {
      form: { description: "body" },
    });
    expect(answer.status).toBe(200);
    expect(await description()).toBe("query");
  });
});

describe("requests that the HTTP server refuses itself", () => {
  test("a DELETE with a body is 501", async () => {
    const answer = await call(lab, "DELETE /nodes/pve1/qemu/20100", { form: { purge: 1 } });
    expect(answer.status).toBe(501);
    expect(answer.reason).toBe("Unexpected content for method 'DELETE'");
    expect((await call(lab, "GET /nodes/pve1/qemu/20100/config")).status).toBe(200);
  });

  test("a body above 512 KiB is 501", async () => {
    const answer = await call(lab, PUT_9000, { form: { description: "x".repeat(512 * 1024) } });
    expect([answer.status, answer.reason]).toEqual([501, "for data too large"]);
  });

  test("another content type is 506", async () => {
    const answer = await call(lab, PUT_9000, { body: "<a/>", headers: { "content-type": "text/xml" } });
    expect(answer.status).toBe(506);
  });

  test("chunked bodies, other methods and other formats are 501", async () => {
    const chunked = await call(lab, PUT_9000, { headers: { "transfer-encoding": "chunked" } });
    expect([chunked.status, chunked.reason]).toEqual([501, "chunked transfer encoding not supported"]);
    expect((await call(lab, "PATCH /version")).status).toBe(501);
    expect((await call(lab, "GET /../extjs/version")).status).toBe(501);
  });

  test("an unknown path is 501 with the method and path in the text", async () => {
    const answer = await call(lab, "GET /nodes/pve1/nothing");
    expect(answer.status).toBe(501);
    expect(answer.message).toBe("Method 'GET /nodes/pve1/nothing' not implemented");
  });

  test("malformed JSON is 500", async () => {
    const answer = await call(lab, PUT_9000, { body: "{", headers: { "content-type": "application/json" } });
    expect(answer.reason).toContain("malformed JSON string");
  });
});

describe("connections", () => {
  test("a refusal closes the connection, a success keeps it", async () => {
    const good = await call(lab, "GET /version");
    expect(good.headers.connection).toBe("Keep-Alive");
    expect(good.headers.server).toBe("pve-api-daemon/3.0");
    const authorization = `Authorization: PVEAPIToken=${lab.tokenId}=${lab.tokenSecret}`;
    const request = (path: string): string =>
      `GET /api2/json${path} HTTP/1.1\r\nHost: x\r\n${authorization}\r\n\r\n`;
    // Two good ones and a bad one on one connection: the server ends it after the third.
    const received = await raw(request("/version") + request("/version") + request("/nope"));
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 501"]);
    expect(received).toMatch(/connection: close/i);
  });

  test("a long answer is compressed when the client takes gzip", async () => {
    const answer = await call(lab, "GET /cluster/resources", { headers: { "accept-encoding": "gzip" } });
    expect(answer.headers["content-encoding"]).toBe("gzip");
    expect((await call(lab, "GET /cluster/resources")).headers["content-encoding"]).toBeUndefined();
  });
});

describe("parameters and the path", () => {
  test("a parameter that contradicts the path is refused", async () => {
    const answer = await call(lab, "GET /nodes/pve1/qemu/20100/config?vmid=20101");
    expect(answer.errors).toEqual({
      vmid: "duplicate parameter (already defined in URI) with conflicting values!",
    });
    expect((await call(lab, "GET /nodes/pve1/qemu/20100/config?vmid=20100")).status).toBe(200);
  });

  test("every offending parameter is named at once, with the texts of Proxmox VE", async () => {
    const answer = await call(lab, PUT_9000, {
      form: {
        cores: 0,
        bogus: 1,
        name: "a_b",
        net0: "virtio=01:00:00:00:00:01,bridge=vmbr0",
        force: 1,
        balloon: "x",
      },
    });
    expect(answer.status).toBe(400);
    expect(answer.reason).toBe("Parameter verification failed.");
    expect(answer.message).toBe("Parameter verification failed.\n");
    expect(answer.errors).toEqual({
      cores: "value must have a minimum value of 1",
      bogus: "property is not defined in schema and the schema does not allow additional properties",
      name: "invalid format - value does not look like a valid DNS name\n",
      net0: "invalid format - format error\nnet0.macaddr: invalid format - value does not look like a valid unicast MAC address\n\n",
      delete: "missing property required by 'force'",
      balloon: "type check ('integer') failed - got 'x'",
    });
  });

  test("net31 exists and net32 does not", async () => {
    const [last, beyond] = await Promise.all(
      ["net31", "net32"].map((key) => call(lab, PUT_9000, { form: { [key]: "virtio,bridge=vmbr9,tag=0" } })),
    );
    expect(last?.errors?.net31).toContain("net31.tag: value must have a minimum value of 1");
    expect(beyond?.errors?.net32).toContain("property is not defined in schema");
  });

  test("an unencoded ssh key and a space written as plus are refused", async () => {
    const key = `ssh-ed25519 ${Buffer.concat([Buffer.from([0, 0, 0, 11]), Buffer.from("ssh-ed25519"), Buffer.alloc(36)]).toString("base64")}`;
    const plain = await call(lab, PUT_9000, { form: { sshkeys: key } });
    expect(plain.errors?.sshkeys).toContain("invalid urlencoded string");
    const plus = await call(lab, PUT_9000, { form: { sshkeys: key.replace(" ", "+") } });
    expect(plus.errors?.sshkeys).toContain("invalid urlencoded string");
    const encoded = await call(lab, PUT_9000, { form: { sshkeys: encodeURIComponent(key) } });
    expect(encoded.status).toBe(200);
    const nonsense = await call(lab, PUT_9000, { form: { sshkeys: encodeURIComponent("ssh-ed25519 AAAA") } });
    expect([nonsense.status, nonsense.reason]).toEqual([500, "SSH public key validation error"]);
  });
});

describe("versions", () => {
  test("8.2 has it in the status line alone, 8.4 in the body too", async () => {
    const [old, newer] = await Promise.all([newLab({ version: "8.2" }), newLab({ version: "8.4" })]);
    const line = "GET /nodes/pve1/qemu/20999/config";
    const before = await call(old, line);
    expect(before.text).toBe('{"data":null}');
    expect(before.reason).toBe("Configuration file 'nodes/pve1/qemu-server/20999.conf' does not exist");
    expect((await call(newer, line)).message).toBe(`${before.reason}\n`);
    expect((await call(old, "GET /version")).data.release).toBe("8.2");
  });

  test("a parameter that 9 added is unknown to 8", async () => {
    const old = await newLab({ version: "8.4" });
    await run(old, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20100 } });
    const config = { form: { "allow-ksm": 0 } };
    expect((await call(old, PUT_9000, config)).errors?.["allow-ksm"]).toContain("not defined in schema");
    expect((await call(lab, PUT_9000, config)).status).toBe(200);
  });

  test("POST /access/vncticket distinguishes the versions with token consoles from those without", async () => {
    const [v82, v90] = await Promise.all([newLab({ version: "8.2" }), newLab({ version: "9.0" })]);
    expect((await call(v82, "POST /access/vncticket")).status).toBe(501);
    expect((await call(v90, "POST /access/vncticket")).status).toBe(501);
    expect((await call(lab, "POST /access/vncticket")).status).toBe(400);
  });
});
