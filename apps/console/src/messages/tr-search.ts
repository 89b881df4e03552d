import type { searchEn } from "./en-search.ts";

/** Turkish texts of the search: the palette, its shortcuts, and the running jobs. */
export const searchTr = {
  search: {
    title: "Arama",
    label: "Sayfalarda, işlemlerde ve kaynaklarda ara",
    placeholder: "Ad, adres, kimlik veya işlem",
    hint: "Bir adın, env=prod gibi bir etiketin ya da bir adresin bir parçasını yazın. Kimlik eksiksiz olmalıdır.",
    none: (text: string) => `${text} için sonuç yok`,
    noneHint: "Adlar, etiketler ve adresler bir parçalarıyla bulunur. Kimlik eksiksiz olmalıdır.",
    pages: "Git",
    acts: "İşlemler",
    create: {
      server: "Sunucu oluştur",
      network: "Ağ oluştur",
      firewall: "Güvenlik duvarı oluştur",
      gateway: "Ağ geçidi oluştur",
      publicIp: "Genel IP ayır",
      sshKey: "SSH anahtarı ekle",
    },
    kinds: {
      server: "Sunucu",
      network: "Ağ",
      firewall: "Güvenlik duvarı",
      gateway: "Ağ geçidi",
      public_ip: "Genel IP",
      ssh_key: "SSH anahtarı",
      job: "İş",
    },
    found: (count: number) => `${count} sonuç`,
    away: "Bazı kaynak türlerinde arama yapılamadı: API yanıt vermiyor.",
    close: "Kapat",
  },
  shortcuts: {
    title: "Klavye kısayolları",
    palette: "Her şeyde ara veya bir yere git",
    filter: "Listenin süzgecine git",
    create: "Sunucu oluştur",
    help: "Bu kısayollar",
    after: "sonra",
  },
  activity: {
    title: "Süren işler",
    quiet: "Süren iş yok",
    running: (_count: number, shown: string) => `${shown} iş sürüyor`,
    succeeded: (job: string) => `${job}: tamamlandı`,
    failed: (job: string) => `${job}: başarısız`,
    cancelled: (job: string) => `${job}: iptal edildi`,
    ended: "Az önce bitenler",
    look: "Bak",
  },
} satisfies typeof searchEn;
