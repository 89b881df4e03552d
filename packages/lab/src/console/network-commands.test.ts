import { expect, test } from "vitest";
import { networkCommand } from "./network-commands.ts";
import type { NetworkTask } from "./network-task.ts";

const asked = (line: string) => networkCommand(line.split(" "), "web-1");
const wordsOf = (line: string) => {
  const command = asked(line);
  return command === null || "complaint" in command ? command : command.words;
};
const taskOf = (line: string): NetworkTask => {
  const command = asked(line);
  if (command === null || "complaint" in command) throw new Error(`${line}: ${JSON.stringify(command)}`);
  return JSON.parse(command.words.at(-1) ?? "") as NetworkTask;
};

test("what a person types becomes one of few programs, with known words", () => {
  expect(wordsOf("ping 10.0.1.5")).toEqual(["ping", "-n", "-W", "1", "10.0.1.5"]);
  expect(wordsOf("ping -c3 -i 0.5 fe80::1%eth0")).toEqual([
    ...["ping", "-n", "-W", "1", "-c", "3", "-i", "0.5", "fe80::1%eth0"],
  ]);
  expect(wordsOf("ip a")).toEqual(["ip", "address", "show"]);
  expect(wordsOf("ip -br addr show")).toEqual(["ip", "-br", "address", "show"]);
  expect(wordsOf("ip route get 10.0.1.5")).toEqual(["ip", "route", "get", "10.0.1.5"]);
  expect(wordsOf("ss -tulpn")).toEqual(["ss", "-n", "-t", "-u", "-l"]);
});

test("TCP and UDP programs are described by a task, not by a command line", () => {
  expect(taskOf("curl 10.0.1.5")).toEqual({
    do: "get",
    to: { host: "10.0.1.5", port: 80, seconds: 10 },
    path: "/",
    show: "body",
  });
  expect(taskOf("curl -i --max-time 3 http://[fd00::5]:8080/a?b=c#d")).toMatchObject({
    to: { host: "fd00::5", port: 8080, seconds: 3 },
    path: "/a?b=c",
    show: "both",
  });
  expect(taskOf("nc -zv 10.0.1.5 22")).toEqual({
    do: "knock",
    to: { host: "10.0.1.5", port: 22, seconds: 5 },
  });
  expect(taskOf("nc -u 10.0.1.5 53")).toMatchObject({ do: "talk", protocol: "udp", to: { port: 53 } });
  expect(taskOf("nc -lv 80")).toEqual({ do: "listen", port: 80, protocol: "tcp", isVerbose: true });
  expect(taskOf("nc -l -p 80")).toMatchObject({ do: "listen", port: 80 });
  expect(taskOf("python3 -m http.server")).toEqual({ do: "serve", port: 8000, name: "web-1" });
});

test.each([
  "ping",
  "ping -f 10.0.1.5",
  "ping -c 0 10.0.1.5",
  "ping -c 1e3 10.0.1.5",
  "ping -I eth0 10.0.1.5",
  "ping -i 0.01 10.0.1.5",
  "ping 10.0.1.5 10.0.1.6",
  "ping $(reboot)",
  "ping 10.0.1.5|sh",
  "ping fe80::1%../../x",
  "ping --help",
  "ip addr add 10.0.1.66/24 dev eth0",
  "ip link set eth0 down",
  "ip netns exec vm1 sh",
  "ip -n vm1 addr",
  "ip -batch /etc/shadow",
  "ip -4 -6 -force route",
  "ip route get 10.0.1.5 from 10.0.1.6",
  "ip route get -4x",
  "ip route flush all",
  "ss -K dst 10.0.1.5",
  "ss -F /etc/shadow",
  "ss -tulne",
  "nc -e /bin/sh 10.0.1.5 80",
  "nc -c sh 10.0.1.5 80",
  "nc -U /run/docker.sock",
  "nc 10.0.1.5",
  "nc -l",
  "nc -l 0",
  "nc -l 65536",
  "nc -l ../x",
  "nc 10.0.1.5 80-90",
  "nc -zu 10.0.1.5 53",
  "curl",
  "curl file:///etc/shadow",
  "curl gopher://10.0.1.5",
  "curl https://10.0.1.5",
  "curl http://example.org/",
  "curl http://10.0.1.5 http://10.0.1.6",
  "curl -o /etc/cron.d/x http://10.0.1.5",
  "curl -T /etc/shadow http://10.0.1.5",
  "curl -K /etc/shadow",
  "curl --unix-socket /run/docker.sock http://10.0.1.5",
  "curl http://[::1",
  "python3",
  "python3 -c import",
  "python3 -m http.server --bind",
  "python3 -m http.server 80 --directory /",
  "python3 -m pty",
])("`%s` starts nothing", (line) => {
  expect(asked(line)).toEqual({ complaint: expect.stringMatching(/\S\n$/), exitCode: expect.any(Number) });
});

test.each(["sh", "nsenter", "nft", "constructor", "__proto__", ""])(
  "`%s` is no command of the network",
  (line) => {
    expect(asked(line)).toBe(null);
  },
);

test("no text of the person's is a word of its own beyond an address or a number", () => {
  for (const line of ["ping -c 5 ::1", "ip -6 route get ::1", "ss -tl"])
    for (const word of wordsOf(line) as readonly string[])
      expect(word).toMatch(/^(ping|ip|ss|route|get|-[a-zA-Z0-9]|[0-9a-f:.]+)$/);
  // A URL's path goes where only JSON is read.
  const words = wordsOf("curl http://10.0.1.5/$(reboot)`x`;--eval=1") as readonly string[];
  expect(words.slice(0, -1).join(" ")).not.toContain("reboot");
  expect(words.at(-2)).toBe("--");
});
