import type { listsEn } from "./en-lists.ts";

/** Turkish of lists: how they are shown, and what their rows offer. */
export const listsTr = {
  listView: {
    title: "Görünüm",
    rows: "Sayfadaki satır sayısı",
    columns: "Sütunlar",
    apply: "Uygula",
    reset: "Başlangıçtaki gibi",
  },
  rowMenu: {
    title: "İşlemler",
    of: (name: string) => `${name} için işlemler`,
  },
} satisfies typeof listsEn;
