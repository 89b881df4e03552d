import type { passwordResetEn } from "./en-password-reset.ts";

/** Turkish texts of password resets. */
export const passwordResetTr: typeof passwordResetEn = {
  passwordReset: {
    forgot: "Parolanızı mı unuttunuz?",
    mailLead:
      "E-posta adresinize bir bağlantı göndeririz. Bağlantı, bir saat içinde bir kez yeni parola belirlemenizi sağlar.",
    mail: "Bağlantıyı gönder",
    mailed:
      "Bu e-posta adresiyle parolalı bir hesap varsa bağlantı gönderildi. Birkaç dakika sürebilir; istenmeyen iletilere de bakın. Gelmezse bu kurulumu işletenden bir bağlantı isteyin.",
    tooMany:
      "Çok fazla bağlantı istendi. Posta kutunuza ve istenmeyen iletilere bakın ya da bir saat bekleyip yeniden deneyin.",
    noEmail: "ada@example.org gibi bir e-posta adresi yazın.",
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
