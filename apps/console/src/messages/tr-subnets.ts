import type { subnetsEn } from "./en-subnets.ts";

/** Turkish texts of a subnet: its addresses, their users, and its reservations. */
export const subnetsTr = {
  subnet: {
    use: "Adresler",
    shares: { used: "kullanımda", quarantined: "karantinada", reserved: "rezerve", free: "boş" },
    total: (count: string) => `Sunucuların alabileceği ${count} adres`,
    full: "Boş adres yok. Bir rezervasyondan vazgeçin ya da başka bir alt ağ oluşturun.",
    reservations: "Rezerve adresler",
    reservationsHint:
      "Hiçbir sunucu bunlardan birini kendiliğinden almaz. Sunucu oluştururken adresi belirtin, o sunucunun olur.",
    noReservations: "Rezerve adres yok.",
    name: "Ad",
    note: "Açıklama",
    address: "Adres",
    addressHint: "Boş bırakılırsa en küçük boş adres rezerve edilir.",
    reserve: "Adres rezerve et",
    change: "Değiştir",
    changeNamed: (name: string) => `${name} rezervasyonunu değiştir`,
    giveUp: "Vazgeç",
    giveUpNamed: (name: string) => `${name} rezervasyonundan vazgeç`,
    list: "Boş olmayan bütün adresler",
    state: "Durum",
    states: {
      used: "kullanımda",
      reserved: "rezerve",
      quarantined: "karantinada",
      platform: "platformun",
    },
    allStates: "Tüm durumlar",
    holder: "Kimin",
    roles: { network: "ağın kendisi", gateway: "ağ geçidinin", broadcast: "yayın adresi" },
    keptBy: (name: string) => `${name} adıyla rezerve`,
    nobody: "artık kimsenin değil",
    since: "Ne zamandan beri",
    restsUntil: "Boşalacak:",
    noneInState: "Bu durumda adres yok.",
    open: (name: string) => `${name} alt ağının adresleri`,
    subnetReserves: (count: number) => `${count} adresi rezerve.`,
    notices: {
      created: "Alt ağ oluşturuldu.",
      changed: "Alt ağ değiştirildi.",
      reserved: "Adres rezerve edildi.",
      reservationChanged: "Rezervasyon değiştirildi.",
      givenUp: "Rezervasyon silindi. Adres, yeniden verilmeden önce bir süre karantinada kalır.",
    },
  },
} satisfies typeof subnetsEn;
