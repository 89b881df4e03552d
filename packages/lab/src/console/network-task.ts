/** A task for a guest's nc, curl or web server; addresses and ports are validated before. */
export type NetworkTask =
  | {
      readonly do: "get";
      readonly to: Target;
      readonly path: string;
      readonly show: "body" | "head" | "both";
    }
  | { readonly do: "serve"; readonly port: number; readonly name: string }
  | { readonly do: "talk"; readonly to: Target; readonly protocol: Protocol; readonly isVerbose: boolean }
  | { readonly do: "knock"; readonly to: Target }
  | {
      readonly do: "listen";
      readonly port: number;
      readonly protocol: Protocol;
      readonly isVerbose: boolean;
    };

type Protocol = "tcp" | "udp";
type Target = { readonly host: string; readonly port: number; readonly seconds: number };

/** As a program of its own: Node may open sockets, and neither files nor other programs. */
export function taskArguments(task: NetworkTask): readonly string[] {
  return [
    process.execPath,
    "--permission",
    "--allow-net",
    "--disable-warning=ExperimentalWarning",
    "-e",
    `(${String(runTask)})()`,
    "--",
    JSON.stringify(task),
  ];
}

/**
 * Runs in a process of its own inside a machine's network, as text: it must not use anything outside of
 * itself. A lab of source files and a bundle contain it in the same form.
 */
function runTask(): void {
  const { createConnection, createServer } = process.getBuiltinModule("node:net");
  const http = process.getBuiltinModule("node:http");
  const { createSocket } = process.getBuiltinModule("node:dgram");
  const task = JSON.parse(process.argv.at(-1) ?? "") as NetworkTask;
  const nobody = 65534;
  /** The other side may answer without end. */
  const mostBytes = 65_536;
  const say = (text: string) => process.stdout.write(text);
  const end = (complaint: string, code: number) => {
    process.stderr.write(complaint, () => process.exit(code));
  };
  const plain = (text: string | undefined) => (text ?? "").replaceAll(/[^ -~]/g, "?").slice(0, 200);
  const bare = (address: string | undefined) => (address ?? "somebody").replace(/^::ffff:/, "");

  if (process.getuid?.() === 0) {
    process.setgroups?.([nobody]);
    process.setgid?.(nobody);
    process.setuid?.(nobody);
  }
  process.stdout.on("error", () => process.exit(1));
  // The other end of it is the lab: without it there is no reader.
  process.stdin.once("end", () => setTimeout(() => process.exit(0), 2_000).unref());
  if (task.do !== "talk" && task.do !== "listen") process.stdin.resume();

  const refused = (error: NodeJS.ErrnoException) => {
    const words: Record<string, string> = {
      ECONNREFUSED: "Connection refused",
      EHOSTUNREACH: "No route to host",
      ENETUNREACH: "Network is unreachable",
      ECONNRESET: "Connection reset by peer",
      EADDRINUSE: "Address already in use",
      EACCES: "Permission denied",
      EPIPE: "Broken pipe",
    };
    return words[error.code ?? ""] ?? error.message;
  };

  if (task.do === "get") {
    const { host, port, seconds } = task.to;
    const shown = host.includes(":") ? `[${host}]` : host;
    const request = http.request(
      {
        host,
        port,
        path: task.path,
        method: task.show === "head" ? "HEAD" : "GET",
        agent: false,
        headers: {
          host: port === 80 ? shown : `${shown}:${port}`,
          "user-agent": "curl/8.5.0",
          accept: "*/*",
        },
      },
      (answer) => {
        let bytes = 0;
        if (task.show !== "body") {
          const { rawHeaders } = answer;
          say(`HTTP/${answer.httpVersion} ${answer.statusCode} ${plain(answer.statusMessage)}\n`);
          for (let n = 0; n < rawHeaders.length; n += 2)
            say(`${plain(rawHeaders[n])}: ${plain(rawHeaders[n + 1])}\n`);
          say("\n");
        }
        answer.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > mostBytes) end("curl: (63) Maximum file size exceeded\n", 63);
          else say(chunk.toString());
        });
        answer.on("end", () => process.exit(0));
        answer.on("error", (error) => end(`curl: (56) Recv failure: ${refused(error)}\n`, 56));
      },
    );
    setTimeout(
      () => end(`curl: (28) Connection timed out after ${seconds * 1000} milliseconds\n`, 28),
      seconds * 1000,
    );
    request.on("error", (error) =>
      end(`curl: (7) Failed to connect to ${host} port ${port}: ${refused(error)}\n`, 7),
    );
    request.end();
  } else if (task.do === "serve") {
    const server = http.createServer({ requestTimeout: 5_000 }, (request, answer) => {
      const { remoteAddress } = request.socket;
      const isGet = request.method === "GET" || request.method === "HEAD";
      const time = new Date().toUTCString().slice(5, 25);
      const line = `"${plain(request.method)} ${plain(request.url)} HTTP/${request.httpVersion}"`;
      say(`${bare(remoteAddress)} - - [${time}] ${line} ${isGet ? 200 : 501} -\n`);
      const body = `Hello from ${task.name}. You are ${bare(remoteAddress)}.\n`;
      answer.writeHead(isGet ? 200 : 501, {
        "content-type": "text/plain",
        "content-length": Buffer.byteLength(body),
        connection: "close",
      });
      answer.end(body);
    });
    server.maxConnections = 16;
    server.on("error", (error) => end(`python3: port ${task.port}: ${refused(error)}\n`, 1));
    server.listen(task.port, "::", () =>
      say(`Serving HTTP on :: port ${task.port} (http://[::]:${task.port}/) ...\n`),
    );
  } else if (task.do === "knock") {
    const { host, port, seconds } = task.to;
    const socket = createConnection({ host, port });
    const title = `nc: connect to ${host} port ${port} (tcp)`;
    setTimeout(() => end(`${title} timed out: Operation now in progress\n`, 1), seconds * 1000);
    socket.on("error", (error) => end(`${title} failed: ${refused(error)}\n`, 1));
    socket.on("connect", () => {
      process.stderr.write(`Connection to ${host} ${port} port [tcp/*] succeeded!\n`, () => process.exit(0));
    });
  } else if (task.do === "talk" && task.protocol === "tcp") {
    const { host, port, seconds } = task.to;
    const socket = createConnection({ host, port });
    const title = `nc: connect to ${host} port ${port} (tcp)`;
    const timer = setTimeout(() => end(`${title} timed out: Operation now in progress\n`, 1), seconds * 1000);
    socket.on("error", (error) => end(`${title} failed: ${refused(error)}\n`, 1));
    socket.on("connect", () => {
      clearTimeout(timer);
      if (task.isVerbose) process.stderr.write(`Connection to ${host} ${port} port [tcp/*] succeeded!\n`);
      process.stdin.pipe(socket);
      socket.pipe(process.stdout, { end: false });
    });
    socket.on("close", () => process.exit(0));
  } else if (task.do === "talk") {
    const { host, port } = task.to;
    const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
    socket.on("error", (error) => end(`nc: ${refused(error)}\n`, 1));
    socket.on("message", (bytes) => say(bytes.toString()));
    socket.connect(port, host, () => process.stdin.on("data", (bytes: Buffer) => socket.send(bytes)));
  } else if (task.protocol === "tcp") {
    const server = createServer((socket) => {
      // It serves one connection, as nc does without -k.
      server.close();
      if (task.isVerbose)
        process.stderr.write(`Connection received on ${bare(socket.remoteAddress)} ${socket.remotePort}\n`);
      socket.on("error", () => process.exit(1));
      socket.on("close", () => process.exit(0));
      process.stdin.pipe(socket);
      socket.pipe(process.stdout, { end: false });
    });
    server.maxConnections = 1;
    server.on("error", (error) => end(`nc: ${refused(error)}\n`, 1));
    server.listen(task.port, "::", () => {
      if (task.isVerbose) process.stderr.write(`Listening on :: ${task.port}\n`);
    });
  } else {
    const socket = createSocket({ type: "udp6" });
    let peer: { readonly address: string; readonly port: number } | undefined;
    socket.on("error", (error) => end(`nc: ${refused(error)}\n`, 1));
    socket.on("message", (bytes, from) => {
      if (peer === undefined && task.isVerbose)
        process.stderr.write(`Connection received on ${bare(from.address)} ${from.port}\n`);
      peer ??= from;
      if (peer.address === from.address && peer.port === from.port) say(bytes.toString());
    });
    socket.bind(task.port, "::", () => {
      if (task.isVerbose) process.stderr.write(`Bound on :: ${task.port}\n`);
    });
    process.stdin.on("data", (bytes: Buffer) => {
      if (peer !== undefined) socket.send(bytes, peer.port, peer.address);
    });
  }
}
