import type { PageBanner } from "../page-banner.ts";
import type { Remedy } from "../remedy.ts";
import { Banner } from "./parts.tsx";

/** What stands above a page, with the way to where it can be mended. */
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
