import type { labelsEn } from "./en-labels.ts";

/** Turkish texts of labels: the editor of each resource, the filter of each list, the field of each create form. */
export const labelsTr = {
  labels: {
    empty:
      "Henüz etiket yok. Etiketler sunucuları gruplar: role=web, env=prod. Listeler ve kullanım onlarla daraltılabilir.",
    edit: "Etiketleri değiştir",
    editOf: (name: string) => `Etiketleri değiştir: ${name}`,
    key: "Etiket",
    value: "Değer",
    hint: "Harf, rakam, nokta, tire ve alt çizgi; en çok 63 karakter. Zaten olan bir etiket yeni değeri alır.",
    title: "Etiketler",
    filterHint: "Virgülle ayrılmış koşullar: role=web, env!=test, env in (prod,stage), role, !role.",
    add: "Ekle",
    save: "Kaydet",
    remove: "Kaldır",
    wrongKey:
      "Harf ya da rakamla başlar ve biter; arada nokta, tire ve alt çizgi de olabilir. En çok 63 karakter.",
    wrongValue: "Etiketle aynı karakterler ya da boş. En çok 63 karakter.",
    removeNamed: (key: string) => `${key} etiketini kaldır`,
    typedHint: "Örneğin env=prod, role=web. Listeler bunlarla daraltılabilir.",
    wrongTyped: {
      key: (term: string) =>
        `“${term}” bir etiket değil: harf ya da rakamla başlar ve biter; arada harf, rakam, nokta, tire ve alt çizgi olabilir.`,
      value: (term: string) => `“${term}” içindeki değerde harf, rakam, nokta, tire ve alt çizgi olabilir.`,
      twice: (term: string) => `“${term}”, burada başka bir değeri olan bir etiketi yineliyor.`,
    },
    notices: {
      labelled: "Etiket yazıldı.",
      unlabelled: "Etiket kaldırıldı.",
    },
  },
} satisfies typeof labelsEn;
