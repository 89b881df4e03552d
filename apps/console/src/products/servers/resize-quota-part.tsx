import type { ResizePageProps } from "./props.ts";

/** The additional use of each quota that has a limit, and what remains of it. */
export function QuotaLeft({ view, server, quotas, plan }: ResizePageProps) {
  const { messages, format } = view;
  if (plan === null) return null;
  const more = {
    vcpu: plan.wanted.vcpu - server.package.vcpu,
    memory_mb: plan.wanted.memory_mb - server.package.memory_mb,
    disk_gb: plan.diskGb - server.disk_gb,
  };
  const lines = (["vcpu", "memory_mb", "disk_gb"] as const).flatMap((name) => {
    const quota = quotas.find((each) => each.name === name);
    if (quota === undefined || quota.limit === null || more[name] <= 0) return [];
    const amount = (value: number) =>
      name === "vcpu"
        ? format.number(value)
        : name === "memory_mb"
          ? format.memory(value)
          : format.disk(value);
    const left = Math.max(0, quota.limit - quota.used);
    return [
      {
        isFull: more[name] > left,
        text: messages.resize.quotaLeft(messages.usage.quotaNames[name], amount(more[name]), amount(left)),
      },
    ];
  });
  if (lines.length === 0) return null;
  return (
    <ul class="quota-left" aria-label={messages.usage.quotas}>
      {lines.map(({ text, isFull }) => (
        <li data-tone={isFull ? "bad" : undefined}>{text}</li>
      ))}
    </ul>
  );
}
