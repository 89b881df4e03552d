import type { certificatesEn } from "./en-certificates.ts";

/** Turkish texts of certificates. */
export const certificatesTr = {
  certificates: {
    title: "Sertifikalar",
    lead: "Yük dengeleyicilerin dinleyicileri için TLS sertifikaları: kendinizinkiler ya da Kule’nin alıp yenilediği sertifikalar.",
    all: "Tüm sertifikalar",
    empty: "Henüz sertifika yok",
    emptyHint: "Sertifikayla bir yük dengeleyici, adlarınıza HTTPS ile yanıt verir.",
    create: "Sertifika ekle",
    createLead: "Etkin olur olmaz bölgesindeki yük dengeleyiciler kullanabilir.",
    type: "Tür",
    types: { uploaded: "yüklenen", managed: "yönetilen" },
    typeChoices: {
      uploaded: "Yüklenen: Sertifikam ve anahtarı bende",
      managed: "Yönetilen: Kule alsın ve yenilesin",
    },
    typeHint: "Yüklenen sertifikayı siz, yönetilen sertifikayı Kule yeniler.",
    regionHint: "Özel anahtarı yalnız orada açılabilir.",
    names: "Alan adları",
    namesHint:
      "Her satıra bir tane, en çok 100. *.example.com, example.com’un hemen altındaki tüm adların yerine geçer.",
    moreNames: (count: string) => `ve ${count} ad daha`,
    challenge: "Adların kanıtı",
    challengeHint: "Yıldızlı bir ad için DNS gerekir.",
    challenges: {
      dns: "DNS: Kule’nin sunduğu alan adında bir kayıt",
      http: "HTTP: 80 numaralı portta bir yük dengeleyici yanıt verir",
    },
    status: {
      pending: "bekliyor",
      issuing: "alınıyor",
      active: "etkin",
      renewing: "yenileniyor",
      failed: "başarısız",
      expired: "süresi dolmuş",
      needs_material: "anahtarı yitik",
    },
    statusReasons: {
      expired: "Sertifikanın süresi dolmuş: istemciler kabul etmez.",
      needs_material:
        "Bölge, özel anahtarı artık açamıyor. Sertifikayı değiştirin: anahtarıyla birlikte yeniden yükleyin.",
    },
    daysLeft: "Kalan gün",
    days: (days: number, shown: string): string => (days < 0 ? "süresi dolmuş" : `${shown} gün`),
    usedBy: "Kullananlar",
    unused: "Hiçbir dinleyici kullanmıyor.",
    listener: "dinleyici",
    listeners: (_count: number, shown: string) => `${shown} dinleyici`,
    facts: "İçerik",
    issuer: "Veren",
    serial: "Seri numarası",
    keyType: "Anahtar türü",
    notBefore: "Geçerlilik başlangıcı",
    notAfter: "Geçerlilik bitişi",
    fingerprint: "SHA-256 parmak izi",
    previousFingerprint: "Önceki parmak izi",
    version: "Sürüm",
    job: "İş",
    jobLink: "ne olduğu",
    material: {
      title: "Sertifika ve anahtar",
      lead: "Sertifikanın süresi dolmadan değiştirin. Kullanan tüm dinleyiciler, hiçbir bağlantı kopmadan yenisini alır.",
      certificate: "Sertifika",
      certificateHint: "PEM biçiminde, zinciriyle ya da zincirsiz.",
      chain: "Zincir",
      chainHint: "Sertifikadan bir köke giden sertifikalar; ilk alanda yoksa.",
      privateKey: "Özel anahtar",
      privateKeyHint:
        "PEM biçiminde, parolasız. Hemen bölge için mühürlenir ve hiçbir sayfa onu bir daha göstermez: bir hatadan sonra yeniden yapıştırılmalıdır.",
      replace: "Sertifikayı değiştir",
      replaceLead: "Adlar öncekilerden farklı olabilir. Başka hiçbir şeyi değişmez.",
    },
    warnings: {
      chain_incomplete: "Zincir bir köke ulaşmıyor. Bazı istemciler sertifikayı kabul etmez.",
      chain_reordered: "Zincirin sırası başkaydı; düzeltildi.",
    },
    renewal: {
      title: "Yenileme",
      first: "Alınma",
      lead: "Süresinin üçte biri kaldığında ya da sertifika makamı istediğinde Kule kendiliğinden yeniler.",
      renewAt: "Yenileneceği zaman",
      nextAttempt: "Sonraki deneme",
      failedAttempts: "Başarısız denemeler",
      lastError: "Son hata",
      caText: "Sertifika makamının sözü",
      now: "Şimdi yenile",
      tryNow: "Şimdi dene",
    },
    errors: {
      ca_account:
        "Sertifika makamı bu kurulumun hesabını kabul etmiyor. Bir işletmen bakmalı; Kule yine dener.",
      ca_caa:
        "Alan adının bir CAA kaydı, bu makamın sertifika vermesini yasaklıyor. Kaydı değiştirip sertifikayı yenileyin.",
      ca_connection:
        "Sertifika makamı ada 80 numaralı porttan HTTP ile bağlanamadı. Ad, bölgedeki bir yük dengeleyiciye çıkmalı.",
      ca_dns: "Sertifika makamı adı DNS’te bulamadı. Alan adının yetkilendirmesini denetleyin.",
      ca_rate_limited: "Sertifika makamı bu türden çok fazla sertifika vermiş; beklenmesini istiyor.",
      ca_refused: "Sertifika makamı sertifikayı vermiyor. Bir işletmen bakmalı; Kule yine dener.",
      ca_refused_name: "Sertifika makamı adlardan biri için sertifika vermiyor. O adı çıkarın.",
      ca_unauthorized: "Sertifika makamı adda doğru yanıtı bulamadı. Kule yine dener.",
      ca_unavailable: "Sertifika makamı gerektiği gibi yanıt vermiyor; Kule yine dener.",
      names_not_proven_in_time: "Adlar zamanında kanıtlanmadı; Kule yine dener.",
      names_not_ready: "Adlardan biri henüz kanıtlanamıyor.",
      order_lost: "Sertifika makamı siparişi artık tanımıyor; Kule baştan başlar.",
      region_failed: "Bölge özel anahtarı oluşturamadı; Kule yine dener.",
      setup_incomplete: "Bu kurulum şu anda sertifika alacak durumda değil. Bir işletmen bakmalı.",
    },
    proofs: {
      title: "Adların kanıtı",
      dnsLead:
        "Sertifika makamına sorulurken Kule bu kayıtları alan adlarınıza yazar, sonra kaldırır. Aşağıda bir engel görünmedikçe sizin bir şey oluşturmanız gerekmez.",
      httpLead: (region: string) =>
        `Her ad için, ${region} bölgesinde 80 numaralı portta http dinleyicisi olan bir yük dengeleyicinin genel adresiyle bir A kaydı oluşturun; AAAA kaydı olmasın. Makama yük dengeleyici kendisi yanıt verir.`,
      domain: "Alan adı",
      domainLink: "Kule’nin yazdığı alan adı",
      recordName: "Ad",
      recordType: "Tür",
      recordValue: "Değer",
      url: "Adres",
      content: "Yanıt",
      later: "makama sorulurken belli olur",
      leadsTo: "Çıktığı yer",
      loadBalancer: "sizin bir yük dengeleyiciniz",
      elsewhere: "başka bir yer",
      problems: {
        domain_missing: "Bu ad, kuruluşun hiçbir alan adının içinde değil. Alan adını ekleyin.",
        domain_not_proven: "Alan adı kanıtlanmamış. Önce onu kanıtlayın.",
        domain_leaving: "Alan adı siliniyor. Silinmesini iptal edin.",
        domain_elsewhere:
          "İnternet, alan adını Kule’nin ad sunucularında bulmuyor. Ad sunucularını kayıt kuruluşunda girin.",
        record_is_alias: "Kaydın yerinde bir CNAME var; yanında başka kayıt olamaz. CNAME kaydını silin.",
        record_delegated:
          "Bu adın yetkisi başka ad sunucularına devredilmiş. Adı orada kanıtlayın ya da NS kaydını silin.",
        caa_forbids: "Bir CAA kaydı sertifika makamına izin vermiyor. Makamı CAA kaydına ekleyin.",
        no_load_balancer:
          "Bölgede, 80 numaralı portta http dinleyicisi ve genel adresi olan bir yük dengeleyici yok. Bir tane oluşturun ve adı ona yöneltin.",
        name_unresolved: "Adın ad sunucuları nereye çıktığını söylemiyor. Yetki devrini denetleyin.",
        name_without_address:
          "Adın A kaydı yok. Bölgedeki bir yük dengeleyicinin genel adresiyle bir A kaydı oluşturun.",
        name_leads_elsewhere:
          "Ad başka bir yere çıkıyor. Yalnızca, 80 numaralı portta http dinleyicisi olan kendi yük dengeleyicilerinize, en az biri bu bölgede olmak üzere, çıkmalı.",
        name_has_ipv6_address:
          "Adın bir IPv6 adresi var; makam önce oraya sorar, yük dengeleyicilerin ise IPv6 adresi yoktur. AAAA kaydını silin.",
        answer_not_in_force:
          "Adın çıktığı yük dengeleyici, makama yanıt verdiği yapılandırmayı henüz almadı. Kendiliğinden alır.",
      },
      states: {
        problem: "henüz olmaz",
        ready: "hazır",
        pending: "makama soruluyor",
        valid: "kanıtlandı",
        invalid: "reddedildi",
      },
    },
    delete: "Sertifikayı sil",
    deleteLead: "Özel anahtarı da silinir. Bu geri alınamaz.",
    deleteUsed: "Kullanan dinleyiciler var. Önce onlardan çıkarın.",
    notices: {
      created: "Sertifika saklandı ve kullanılabilir.",
      requested: "Sertifika isteniyor.",
      changed: "Sertifika değiştirildi.",
      replaced: "Sertifika değiştirildi. Kullanan dinleyicilere gidiyor.",
      renewing: "Sertifika yeniden isteniyor.",
      deleted: "Sertifika silindi.",
    },
  },
} satisfies typeof certificatesEn;
