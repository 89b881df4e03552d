import type { passwordResetEn } from "./en-password-reset.ts";

/** Turkish of a lost password. */
export const passwordResetTr: typeof passwordResetEn = {
  passwordReset: {
    forgot: "Parolanızı mı unuttunuz?",
    ask: "Bu kurulumu işletenden bir bağlantı isteyin. Bağlantı, bir saat içinde bir kez yeni parola belirlemenizi sağlar.",
    back: "Girişe dön",
    set: "Yeni parola belirle",
    lead: "Her yerdeki oturumlarınız kapanır. İkinci doğrulamanız varsa girişte yine istenir.",
    over: "Bu bağlantı daha önce kullanıldı ya da süresi doldu. Yenisini isteyin.",
    done: "Yeni parola belirlendi. Onunla giriş yapın.",
    link: "Parola bağlantısı",
    linkFor: (name: string) => `${name} için parola bağlantısı oluştur`,
    linkQuestion: (name: string) => `${name} yeni parola belirlesin diye bağlantı oluşturulsun mu?`,
    linkHint:
      "Bir saat içinde bir kez çalışır ve önceki bağlantıyı geçersiz kılar. İsteyenin kim olduğundan emin olun: bağlantıyı açan, ikinci doğrulama dışında hesabın sahibi olur.",
  },
};
