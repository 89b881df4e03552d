import type { identitiesEn } from "./en-identities.ts";

/** Bir sağlayıcı ile giriş ve hesapta bıraktıkları. */
export const identitiesTr: typeof identitiesEn = {
  providers: {
    signInWith: (label) => `${label} ile oturum aç`,
    joinWith: (label) => `${label} ile katıl`,
    joinHint: (email) => `Oradaki adresi ${email} olan hesap için. Burada parola gerekmez.`,
    or: "ya da",
    goOn: (label) => `${label} sayfasına geçiliyor`,
    goOnLead: (label) => `${label} kim olduğunuzu sorar ve sizi buraya geri getirir.`,
    goOnLink: (label) => `${label} ile devam et`,
    failed:
      "Giriş geçerli olmadı: çok uzun sürdü, daha önce kullanıldı ya da başka bir tarayıcıda başladı. Yeniden başlayın.",
    away: (label) => `${label} şu anda yanıt vermiyor. Yeniden deneyin ya da başka bir yolla oturum açın.`,
    gone: "Böyle bir sağlayıcı artık yok.",
    notConfigured: "Sağlayıcı ile giriş eksik ayarlanmış. Nedenini işletmenler görebilir.",
    tooMany: "Çok fazla deneme yapıldı. Lütfen çeyrek saat bekleyin.",
    refused: {
      provider_agreed: (label) =>
        `${label} girişinizi onaylamadı. Yeniden deneyin ya da başka bir yolla oturum açın.`,
      email_verified: (label) =>
        `${label} e-posta adresinizin sizin olduğunu söylemiyor. Adresi orada doğrulatıp yeniden deneyin.`,
      email_domain_allowed: (label) =>
        `Sizinki gibi adresler burada ${label} ile oturum açamaz. Oradaki başka bir hesabı kullanın.`,
      invited: (label) =>
        `Burada henüz bir kuruluşa bağlı değilsiniz. Davetinizin bağlantısını açıp orada ${label} seçeneğini kullanın.`,
      organisation_has_room: () =>
        "Buradan katılınan kuruluşta boş yer kalmadı. Kuruluştan birinden yer boşaltmasını ya da bir işletmenden sınırı yükseltmesini isteyin.",
      not_yet_an_account: (label) =>
        `E-posta adresinizle zaten bir hesap var. Önce eskisi gibi oturum açın, sonra “Hesap ve güvenlik” altında ${label} hesabını bağlayın.`,
      identity_is_free: (label) => `Bu ${label} hesabı zaten bağlı.`,
    },
  },
  identities: {
    title: "Bağlı sağlayıcılar",
    hint: "Başka yerdeki hesaplarınızla burada oturum açın. Yalnızca siz bağlayabilirsiniz; e-posta adresi tek başına hiçbir zaman yetmez.",
    none: "Bağlı olan yok.",
    link: (label) => `${label} hesabını bağla`,
    account: "Oradaki hesap",
    linked: "Bağlandı",
    unknownAccount: "(belirtilmiyor)",
    goneProvider: "artık sunulmuyor",
    unlink: "Bağlantıyı kaldır",
    unlinkNamed: (label) => `Bağlantıyı kaldır: ${label}`,
    unlinkQuestion: (label) => `Artık ${label} ile oturum açılmasın mı?`,
    unlinkHint: "Onunla açılmış diğer oturumlarınız hemen kapanır.",
    proveWith: (label) => `${label} ile kanıtla`,
    noPassword: "Parolasız oturum açıyorsunuz. Başka bir yolunuz daha olsun diye parola belirleyebilirsiniz.",
    setPassword: "Parolayı belirle",
    resetNotice: (when) =>
      `Bir işletmen ikinci adımınızı kaldırdı (${when}). Bunu siz istemediyseniz parolanızı değiştirin ve işletmenlere bildirin.`,
    reset: "İkinci adımı sıfırla",
    resetOf: (name) => `İkinci adımı sıfırla: ${name}`,
    resetQuestion: (name) =>
      `${name} kişisinin doğrulama uygulaması, geçiş anahtarları ve kurtarma kodları kaldırılsın mı?`,
    resetHint:
      "Bunları kaybetmiş ve kim olduğunu başka bir yolla gördüğünüz biri için. Bütün kuruluşlardaki oturumlarının hepsi kapanır.",
  },
};
