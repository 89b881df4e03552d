import { seededGenerator } from "@kule/lab/runtime";
import { expect, test } from "vitest";
import { batchesOf, holdsJob, placesOf, sampleOfEachStep, stepOf } from "./crash-places.ts";

const before = ["agent.me.before-send", "agent.me.reply-read", "agent.claim.before-send"];
const during = [
  "agent.claim.reply-read",
  "agent.report.before-send",
  "agent.report.reply-read",
  "ServerStop.protect.before-send",
  "agent.report.before-send",
  "agent.report.reply-read",
  "ServerStop.protect.after-ack",
  "ServerCreate.clone.before-send",
  "agent.claim.before-send",
];

test("crash points of a job are its own and its reports by their number, and other calls once", () => {
  const places = placesOf("ServerStop", before, during).map(({ name, time }) => `${name}@${time}`);
  expect(places).toEqual([
    "agent.me.before-send@1",
    "agent.me.reply-read@1",
    "agent.claim.before-send@1",
    "agent.claim.reply-read@1",
    "agent.report.before-send@1",
    "agent.report.reply-read@1",
    "ServerStop.protect.before-send@1",
    "agent.report.before-send@2",
    "agent.report.reply-read@2",
    "ServerStop.protect.after-ack@1",
  ]);
});

test("a sample has some of each step, and the same for the same seed", () => {
  const places = placesOf("ServerStop", before, during);
  const sample = sampleOfEachStep(places, 0.1, seededGenerator(3));
  expect(new Set(sample.map(stepOf))).toEqual(new Set(places.map(stepOf)));
  expect(sample.length).toBeLessThan(places.length);
  expect(sampleOfEachStep(places, 0.1, seededGenerator(3))).toEqual(sample);
  expect(new Set(sampleOfEachStep(places, 1, seededGenerator(3)))).toEqual(new Set(places));
});

test("batches contain every crash point once, and are even", () => {
  const places = placesOf("ServerStop", before, during);
  const batches = batchesOf(places, 4);
  expect(batches.map(({ length }) => length)).toEqual([4, 3, 3]);
  expect(batches.flat()).toEqual(places);
});

test("an agent holds a job from the answer to its claim on", () => {
  const places = placesOf("ServerStop", before, during);
  expect(places.filter((place) => !holdsJob(place)).map(({ name }) => name)).toEqual([
    "agent.me.before-send",
    "agent.me.reply-read",
    "agent.claim.before-send",
  ]);
});
