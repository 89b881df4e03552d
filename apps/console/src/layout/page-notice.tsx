import type { PageBanner } from "../page-banner.ts";
import type { Remedy } from "../remedy.ts";
import { Banner } from "./parts.tsx";

/** The banner above a page, with a link to where the problem can be fixed. */
export function PageNotice({ banner }: { readonly banner: PageBanner }) {
  if (banner === null) return null;
  return (
    <Banner kind={banner.kind}>
      {banner.text}
      <RemedyLink remedy={banner.remedy ?? null} />
    </Banner>
  );
}

export function RemedyLink({ remedy }: { readonly remedy: Remedy | null }) {
  if (remedy === null) return null;
  return (
    <>
      {" "}
      <a href={remedy.href}>{remedy.text}</a>
    </>
  );
}
