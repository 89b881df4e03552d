import type { requestsEn } from "./en-requests.ts";

/** Turkish texts beside a form: for a request without an answer, and for values that the API refuses. */
export const requestsTr = {
  requestProblems: {
    ended: "Oturumunuz sona erdi. Sürdürmek için yeniden oturum açın; yazdıklarınız duruyor.",
    signIn: "Yeniden oturum aç",
    forbidden: "Rolünüz buna artık izin vermiyor. Yazdıklarınız duruyor.",
    gone: "İlgili kaynak artık yok. Yazdıklarınız duruyor.",
    away: "API şu anda yanıt vermiyor. Yazdıklarınız duruyor; birazdan yeniden deneyin.",
    broken: "Bizim tarafımızda bir şeyler ters gitti. Yazdıklarınız duruyor; yeniden deneyin.",
    kept: "Yazdıklarınız yeniden burada. Parolaları yeniden yazmanız gerekir.",
  },
  fieldFormats: {
    cidr: "10.1.0.0/16 gibi bir aralık girin.",
    private_ip: "10.1.0.5 gibi bir adres girin.",
    address: "203.0.113.7 gibi bir adres girin.",
    addresses: "203.0.113.7 gibi adresler girin.",
    gateway: "203.0.113.1 gibi bir adres girin.",
    name: "Küçük harf, rakam ve tire kullanın; örneğin web-1.",
    slug: "Küçük harf, rakam ve tire kullanın; örneğin ist1.",
    ports: "443 ya da 8000-8100 gibi bir bağlantı noktası veya aralık girin.",
    email: "ada@example.org gibi bir e-posta adresi girin.",
    dns_servers: "192.0.2.53 gibi adresler girin.",
    ptr: "mail.example.org gibi bir alan adı girin.",
    from_time: "22:00 gibi bir saat girin.",
    to_time: "04:00 gibi bir saat girin.",
    country: "TR gibi bir ülke kodu girin.",
    code: "Uygulamanızdaki altı haneyi girin; örneğin 492039.",
  } as Readonly<Record<string, string | undefined>>,
} satisfies typeof requestsEn;
