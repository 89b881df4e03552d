import { Status } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { daysTone } from "./status.ts";

/** The days until clients refuse it, marked when they are few; a dash while it has never been issued. */
export function DaysLeft({ view, days }: { readonly view: View; readonly days: number | null }) {
  if (days === null) return <span class="hint">–</span>;
  const text = view.messages.certificates.days(days, view.format.number(Math.abs(days)));
  const tone = daysTone(days);
  return tone === null ? <span>{text}</span> : <Status tone={tone}>{text}</Status>;
}
