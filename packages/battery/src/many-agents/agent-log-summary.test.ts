import { expect, test } from "vitest";
import { emptyWord, judgeAgentLogs, readAgentLog } from "./agent-log-summary.ts";

const line = (msg: string, epoch: number, job = "job_1") =>
  `${JSON.stringify({ level: "info", job, epoch, msg })}\n`;

test("agents that are killed, release jobs and take over cause no findings", () => {
  const word = emptyWord();
  readAgentLog(
    word,
    "one",
    `${line("job claimed", 1)}${line("clone running", 1)}{"level":"info","job":"job_1","msg":"job cla`,
  );
  readAgentLog(word, "two", line("job claimed", 2) + line("job ended: released", 2));
  readAgentLog(word, "three", line("job claimed", 3) + line("job succeeded", 3));
  expect(judgeAgentLogs(word, new Set(["job_1/2", "job_1/3"]))).toEqual([]);
  expect(word.given.size).toBe(3);
});

test("two agents with one epoch, two ends, and an end by a former holder are found", () => {
  const word = emptyWord();
  readAgentLog(word, "one", line("job claimed", 1) + line("job succeeded", 1));
  readAgentLog(word, "two", line("job claimed", 1) + line("job succeeded", 1) + line("job succeeded", 2));
  const found = judgeAgentLogs(word, new Set(["job_1/2"])).join("\n");
  expect(found).toMatch(/given to 2 agents/);
  expect(found).toMatch(/under epoch 1: a former holder's word counted/);
  expect(found).not.toMatch(/under epoch 2/);
  expect(judgeAgentLogs(word, new Set(["job_1/1"])).join("\n")).toMatch(/double completion/);
});
