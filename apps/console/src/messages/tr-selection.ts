import type { selectionEn } from "./en-selection.ts";

/** Turkish of acts on several servers at once. */
export const selectionTr = {
  selection: {
    choose: (name: string) => `${name} sunucusunu seç`,
    chooseAll: "Bu sayfadakilerin hepsini seç",
    act: "Seçilen sunuculara ne yapılacağı",
    go: "Devam",
    hint: "Listeyi görmenizden önce hiçbir şey olmaz.",
    acts: {
      start: "Başlat",
      shutdown: "Kapat",
      reboot: "Yeniden başlat",
      stop: "Durdur",
      delete: "Sil",
      restore: "Silmekten vazgeç",
    },
    titles: {
      start: (servers: string) => `${servers} başlatılsın mı?`,
      shutdown: (servers: string) => `${servers} kapatılsın mı?`,
      reboot: (servers: string) => `${servers} yeniden başlatılsın mı?`,
      stop: (servers: string) => `${servers} durdurulsun mu?`,
      delete: (servers: string) => `${servers} silinsin mi?`,
      restore: (servers: string) => `${servers} silinmekten kurtarılsın mı?`,
    },
    servers: (count: number) => `${count} sunucu`,
    leads: {
      start: "Açılırlar.",
      shutdown: "Her konuktan kapanması istenir. Yanıt vermeyen olduğu gibi kalır.",
      reboot: "Her konuktan yeniden başlaması istenir.",
      stop: "Güçleri hemen kesilir. Konukların yazmadıkları kaybolur.",
      delete: "Durdurulur ve silinme süresi boyunca saklanırlar. Süre dolana kadar vazgeçilebilir.",
      restore: "Silinme süresinden çıkarlar.",
    },
    none: "Hiç sunucu seçilmedi",
    noneHint: "Listedeki sunucuların kutularını işaretleyin, sonra ne yapılacağını söyleyin.",
    back: "Listeye dön",
    will: "İstenecekler",
    cannot: "Şimdi olmaz",
    result: "İstenenler",
    asked: "kabul edildi",
    refused: "reddedildi",
    unknown: "yanıt yok",
    unknownHint: "API bunlar için yanıt vermedi. Devam etmek yeniden sorar ve hiçbir şeyi iki kez yapmaz.",
    askAgain: "Yeniden sor",
    nothingPossible: "Seçilen sunucuların hiçbirinden bu şimdi istenemez.",
  },
} satisfies typeof selectionEn;
