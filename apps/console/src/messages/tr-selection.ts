import type { selectionEn } from "./en-selection.ts";

/** Turkish texts of actions on several resources at once. */
export const selectionTr = {
  selection: {
    choose: (name: string) => `Seç: ${name}`,
    chooseAll: "Bu sayfadakilerin hepsini seç",
    act: "Seçilenlere ne yapılacağı",
    go: "Devam et",
    hint: "Listeyi görmenizden önce hiçbir şey olmaz.",
    none: "Hiçbir şey seçilmedi",
    noneHint: "Listedeki kutuları işaretleyin, sonra bir işlem seçin.",
    back: "Listeye dön",
    typeCount: (count: string) => `Onaylamak için kaç tane olduklarını yazın: ${count}`,
    mistyped: (wanted: string) => `Onaylamak için ${wanted} yazın.`,
    will: "Etkilenecekler",
    cannot: "Şimdi olmaz",
    result: "İstenen",
    asked: "kabul edildi",
    refused: "reddedildi",
    unknown: "yanıt yok",
    unknownHint: "API bunlar için yanıt vermedi. Devam etmek yeniden sorar ve hiçbir şeyi iki kez yapmaz.",
    askAgain: "Yeniden sor",
    nothingPossible: "Seçilenlerin hiçbirinden bu şimdi istenemez.",
  },
  selectionKinds: {
    servers: {
      count: (items: number) => `${items} sunucu`,
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
      leads: {
        start: "Açılırlar.",
        shutdown: "Her konuktan kapanması istenir. Yanıt vermeyen olduğu gibi kalır.",
        reboot: "Her konuktan yeniden başlaması istenir.",
        stop: "Güçleri hemen kesilir. Konukların yazmadıkları kaybolur.",
        delete: "Durdurulur ve silinme süresi boyunca saklanırlar. Süre dolana kadar vazgeçilebilir.",
        restore: "Silinme süresinden çıkarlar.",
      },
    },
    networks: {
      count: (items: number) => `${items} ağ`,
      acts: { delete: "Sil" },
      titles: { delete: (networks: string) => `${networks} silinsin mi?` },
      leads: { delete: "Boş olanlar silinebilir. Adresleri hemen yeniden kullanılabilir." },
    },
    gateways: {
      count: (items: number) => `${items} ağ geçidi`,
      acts: { delete: "Sil" },
      titles: { delete: (gateways: string) => `${gateways} silinsin mi?` },
      leads: { delete: "Hizmet verdikleri alt ağların artık çıkışı olmaz." },
    },
    loadBalancers: {
      count: (items: number) => `${items} yük dengeleyici`,
      acts: { apply: "Yeniden uygula", delete: "Sil" },
      titles: {
        apply: (loadBalancers: string) => `${loadBalancers} yeniden uygulansın mı?`,
        delete: (loadBalancers: string) => `${loadBalancers} silinsin mi?`,
      },
      leads: {
        apply: "Yapılandırmanın tamamı makinelerine yeniden gönderilir.",
        delete: "Adreslerinden artık hizmet verilmez. Sunucuları hemen yok edilir.",
      },
    },
    firewalls: {
      count: (items: number) => `${items} güvenlik duvarı`,
      acts: { apply: "Yeniden uygula", delete: "Sil" },
      titles: {
        apply: (firewalls: string) => `${firewalls} kuralları yeniden uygulansın mı?`,
        delete: (firewalls: string) => `${firewalls} silinsin mi?`,
      },
      leads: {
        apply: "Kurallar bağlı bütün sunuculara yeniden uygulanır.",
        delete: "Kurallar kalıcı olarak silinir.",
      },
    },
    publicIps: {
      count: (items: number) => `${items} adres`,
      acts: { detach: "Ayır", release: "Bırak" },
      titles: {
        detach: (addresses: string) => `${addresses} ayrılsın mı?`,
        release: (addresses: string) => `${addresses} bırakılsın mı?`,
      },
      leads: {
        detach: "Sunucularına artık bu adreslerden ulaşılmaz. Adresler sizde kalır.",
        release:
          "Bir süre karantinada kalır ve kuruluşunuza tahsisli kalmaya devam ederler; bir dahaki sefere başkalarını alabilirsiniz.",
      },
    },
    domains: {
      count: (items: number) => `${items} alan adı`,
      acts: { apply: "Yeniden uygula", delete: "Sil" },
      titles: {
        apply: (domains: string) => `${domains} yeniden uygulansın mı?`,
        delete: (domains: string) => `${domains} silinsin mi?`,
      },
      leads: {
        apply:
          "Her biri ad sunucularındaki durumuyla karşılaştırılır. Orada Kule'nin dışında değiştirilenler düzeltilir.",
        delete:
          "Silinme süresi dolana kadar yayında kalırlar ve o zamana kadar vazgeçilebilir. Kanıtlanmamış olanlar hemen silinir.",
      },
    },
    certificates: {
      count: (items: number) => `${items} sertifika`,
      acts: { delete: "Sil" },
      titles: { delete: (certificates: string) => `${certificates} silinsin mi?` },
      leads: { delete: "Özel anahtarları da silinir. Bu geri alınamaz." },
    },
    sshKeys: {
      count: (items: number) => `${items} anahtar`,
      acts: { delete: "Sil" },
      titles: { delete: (keys: string) => `${keys} silinsin mi?` },
      leads: { delete: "Onları taşıyan sunucularda kalırlar. Yeni sunuculara verilemezler." },
    },
  },
} satisfies typeof selectionEn;
