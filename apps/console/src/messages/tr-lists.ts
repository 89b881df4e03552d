import type { listsEn } from "./en-lists.ts";

/** Turkish texts of lists: their settings, and the actions of their rows. */
export const listsTr = {
  listView: {
    title: "Görünüm",
    rows: "Sayfadaki satır sayısı",
    columns: "Sütunlar",
    apply: "Uygula",
    reset: "Sıfırla",
  },
  rowMenu: {
    title: "İşlemler",
    of: (name: string) => `${name} için işlemler`,
  },
  deletionLoses: {
    goes: (addresses: string) => `Silinme süresi bitince bırakılır: ${addresses}.`,
    stays: (addresses: string) => `Sizde kalır ve ardından başka bir sunucuya takılabilir: ${addresses}.`,
  },
  usageEvents: {
    title: "Kullanım olayları",
    lead: "Bir kaynağın kullanımının başladığı ya da bittiği her an. Dilimler bunlardan hesaplanır ve hiçbiri sonradan değişmez. Saatler UTC'dir.",
    event: "Olay",
    at: "Zaman",
    cause: "Nedeni",
    job: "İş",
    only: "yalnız bu",
    sources: {
      verify: "bir iş",
      reconcile: "bölgede görüldü",
      correction: "bir işletmen düzeltti",
      request: "bir istek",
      meter: "bölgede ölçüldü",
    },
    kinds: {
      "server.started": "Sunucu başladı",
      "server.stopped": "Sunucu durdu",
      "server.resized": "Sunucu yeniden boyutlandı",
      "server.purge_scheduled": "Silinmesi istendi",
      "server.purged": "Sunucu kaldırıldı",
      "disk.allocated": "Disk oluşturuldu",
      "disk.released": "Disk kaldırıldı",
      "public_ip.allocated": "Genel IP alındı",
      "public_ip.released": "Genel IP bırakıldı",
      "load_balancer.traffic": "Yük dengeleyici trafiği",
      "usage.corrected": "Kullanım düzeltildi",
    },
    empty: "Olay yok",
    emptyHint:
      "Bu ayda eşleşen bir şey yok. Bir sunucu başladığında, durduğunda, boyutu değiştiğinde ya da kaldırıldığında bir olay yazılır.",
  },
} satisfies typeof listsEn;
