import { expect, test } from "vitest";
import { readEvents } from "./event-stream.ts";

async function eventsOf(...chunks: string[]) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
  return Array.fromAsync(readEvents(body));
}

test("events are read however the network splits them", async () => {
  const text = 'event: job\nid: 7\ndata: {"a":\ndata: 1}\n\n: still here\n\ndata:plain\n\n';
  const expected = [
    { event: "job", id: "7", data: '{"a":\n1}' },
    { event: "message", id: "7", data: "plain" },
  ];
  expect(await eventsOf(text)).toEqual(expected);
  expect(await eventsOf(...text)).toEqual(expected);
  expect(await eventsOf(...text.replaceAll("\n", "\r\n"))).toEqual(expected);
});

test("an incomplete event is dropped", async () => {
  expect(await eventsOf("event: job\ndata: {}\n")).toEqual([]);
});

test("multi-byte characters are read correctly when they are split", async () => {
  const bytes = new TextEncoder().encode("data: kuruluşğı\n\n");
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  expect((await Array.fromAsync(readEvents(body)))[0]?.data).toBe("kuruluşğı");
});
