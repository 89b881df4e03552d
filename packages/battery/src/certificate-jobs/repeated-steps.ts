import { runnerOfDoubledSteps } from "../job-kinds/doubled-steps.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { brokenInvariants, newSubject } from "../job-kinds/scene.ts";
import { STEP_NAMES } from "../job-kinds/step-names.ts";
import type { RowResult, RowRun } from "../row.ts";
import { keyViolations, newKey } from "./key-course.ts";

const KIND = "CertificateRequest";

/** Has a key made with each step applied twice: the attempt goes on with the second one. */
export function repeatAtCertificates(run: RowRun): Promise<RowResult> {
  return LocalScene.use(async (scene) => {
    await scene.reportAgentKey();
    const applied = new Set<string>();
    const subject = await newSubject(scene);
    await newKey.cause(scene, subject);
    const doubled = runnerOfDoubledSteps(KIND, (name) => applied.add(name));
    await scene.work(subject, KIND, { run: doubled });
    const violations = [...(await keyViolations(scene, subject)), ...(await brokenInvariants(scene))].map(
      (text) => `with each step twice: ${text}`,
    );
    const missing = STEP_NAMES[KIND].filter((name) => !applied.has(name));
    if (missing.length > 0) violations.push(`${KIND}: nothing led to ${missing.join(", ")}`);
    run.progress(`a certificate: ${applied.size} steps applied twice, ${violations.length} violations`);
    return { cases: 1, violations, figures: { "steps of certificates applied twice": applied.size } };
  });
}
