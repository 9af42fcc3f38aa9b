"""The phrases that refuse, by language, as patterns for folded text with straight quotes.

A phrase needs a speaker who speaks of itself, words that say no, and an act that is refused, such
as helping or answering. Apologies alone are no refusals, and neither are quotations in a text and
conditions ("if I cannot help you, …").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

_GAP = r"[^.!?:;,\n]{0,45}?"

_ENGLISH_ACTS = (
    r"help(?! but\b)|assist|comply|fulfill?|provide|share|answer|do (?:that|this|so)|continue|"
    r"engage|support|create|generate|write|discuss|participate|offer|give(?! up)|complete|process|"
    r"respond|accommodate|classify|translate|summari[sz]e|rewrite|extract|carry out|explain how|"
    r"disclose|reveal|tell you(?! how \w+ (?:i|we)\b)|talk about|advise"
)
_GERMAN_ACTS = (
    r"(?:weiter)?helfen|behilflich|unterstützen|(?:be)?antworten|das tun|nicht tun|nicht machen|"
    r"nachkommen|eingehen|beratung leisten|entsprechen|erfüllen|verraten|äussern|"
    r"(?:dazu|nichts|darüber) \w*\s?sagen|"
    r"(?:weiter)?geben|beraten|bereitstellen|mitteilen|teilen|besprechen|sprechen|diskutieren|"
    r"erstellen|schreiben|übersetzen|meinung haben|bearbeiten"
)
_GERMAN_CAN = "(?:kann|darf|werde|möchte|will|können|dürfen|werden|möchten|wollen)"
_DUTCH_ACTS = (
    r"helpen|(?:be)?antwoorden|doen|geven|delen|voldoen|vertellen(?! hoe)|bespreken|praten|"
    r"ondersteunen|verstrekken|schrijven|vertalen|maken"
)
_FRENCH_ACTS = (
    r"aider|assister|répondre|fournir|faire (?:cela|ça|ceci)|le faire|donner (?:suite|d'|de |ce)|"
    r"partager|divulguer|discuter|parler|accéder|traiter|effectuer|accompagner|satisfaire|"
    r"commenter|renseigner|créer|rédiger|écrire|traduire|générer|révéler"
)
_SPANISH_ACTS = (
    r"ayudar\w*|asistir\w*|responder\w*|contestar\w*|proporcionar\w*|hacer(?:lo| eso| esto)|"
    r"dar\w* (?:opini|informaci|consej|instrucci|detalles|asesor|diagn)|"
    r"cumplir\w*|compartir\w*|ofrecer\w*|"
    r"brindar\w*|facilitar\w*|atender\w*|hablar|discutir|comentar|revelar|generar|crear|escribir|"
    r"traducir|procesar|satisfacer"
)
_ITALIAN_ACTS = (
    r"aiutar\w*|assister\w*|risponder\w*|fornir\w*|farlo|fare (?:questo|quello|ciò)|"
    r"condivider\w*|soddisfar\w*|dar\w* (?:opini|informazi|consigli|indicazi)|discuter\w*|"
    r"parlar\w*|esaudir\w*|commentar\w*|rivelar\w*|crear\w*|scriver\w*|tradur\w*|elaborar\w*"
)
_PORTUGUESE_ACTS = (
    r"ajud[aá]r?\w*|auxiliar|assistir|responder\w*|fornecer\w*|fazer (?:isso|isto)|fazê-lo|atender|"
    r"dar (?:opini|informa|conselh|aconselh|instru)|compartilhar|partilhar|discutir|falar|comentar|"
    r"oferecer|"
    r"revelar|divulgar|criar|gerar|escrever|traduzir|processar|cumprir"
)
_POLISH_ACTS = (
    r"pomóc|pomagać|tego zrobić|zrobić tego|odpowi\w+|udziel\w+|podać|podawać|spełni\w+|"
    r"rozmawiać|omawiać|udostępni\w+|mieć (?:własnej )?opinii|wykona\w+|ujawni\w+|dostarcz\w+|"
    r"napisać|stworzyć|przetłumaczyć|przetworzyć|zrealizować|skomentować"
)
_RUSSIAN_ACTS = (
    r"помочь|помогать|ответить|отвечать|это(?:го)? сделать|сделать это(?:го)?|предостав\w+|"
    r"выполн\w+|обсуждать|обсудить|говорить|разглашать|(?:по)?делиться|иметь|дать|давать|"
    r"сообщ\w+|содействовать|комментировать|раскры\w+|создать|написать|перевести|обработать|"
    r"удовлетворить"
)
_JAPANESE_ACTS = (
    "お手伝い|お答え|回答|返答|お力に|対応|提供|お話し|お伝え|共有|開示|公開|述べる|議論|助言|協力|お応え|"
    "サポート|支援|作成|生成|翻訳"
)
_CHINESE_ACTS = (
    "帮助|幫助|协助|協助|帮[您你到]|幫[您你到]|回答|答复|答覆|回应|回應|提供|[这這那]样?樣?做|做到|"
    "[满滿]足|[讨討][论論]|[谈談][论論]|[发發]表|分享|透露|[处處]理|完成|生成|撰[写寫]|[编編][写寫]|"
    "[创創]建|[执執]行|支持|[评評][论論]"
)
_KOREAN_ACTS = (
    r"도와 ?드릴|도울|도움을? ?(?:드릴|줄)|답변(?:해)? ?드릴|답변할|답할|"
    r"논의(?:해 드릴|할)|대답(?:해 드릴|할)|"
    r"제공(?:해 드릴|할)|말씀 ?드릴|알려 ?드릴|이야기(?:해 드릴|할)|공유(?:해 드릴|할)|그렇게 할|"
    r"처리(?:해 드릴|할)|들어 ?드릴|응(?:해 드릴|할)|작성(?:해 드릴|할)|해 ?드릴"
)

_ARABIC_ACTS = (
    "مساعد|الإجابة|الرد على|تقديم|القيام|تلبية|مناقش|التحدث|الحديث|مشارك|كتابة|إنشاء|تنفيذ|معالجة|"
    "الإفصاح|إعطاء"
)
_HINDI_ACTS = "मदद|सहायता|उत्तर|जवाब|जानकारी|चर्चा|बात|साझा|पूरा|सलाह|लिख|ऐसा|यह काम|राय"
_TURKISH_ACTS = (
    "yardımcı ol|yardım ed|destek ol|cevap ver|yanıt ver|bilgi ver|yanıtla|cevapla|sağla|bunu yap|"
    "paylaş|konuş|tartış|yerine getir|yaz|oluştur|karşıla|görüş bildir"
)

PHRASES: Mapping[str, tuple[str, ...]] = {
    "English": (
        r"\b(?:i|we)(?: am|'m| are|'re)? (?:can't|cannot|can not|won't|will not|must not|mustn't|"
        r"may not|unable to|not able to|not going to|not allowed to|not permitted to|"
        r"not comfortable|have to decline|must decline|refuse to)"
        r"(?: (?:really|currently|directly|just|unfortunately|in good conscience|ethically))?"
        rf"(?: be able to)? ?(?:(?:{_ENGLISH_ACTS})\b|$|\.|,|to\b|with\b|\w+ing\b)",
        rf"^(?:(?:i'm )?sorry,? (?:but )?)?(?:can't|cannot|unable to|not able to) "
        rf"(?:{_ENGLISH_ACTS})\b",
        r"(?:\bnot|n't) something (?:that )?(?:i|we)"
        r"(?: can|(?:'m| am|'re| are) (?:able|allowed) to)\b",
        r"\b(?:i'm|i am|we're|we are) not (?:in a position|qualified|authori[sz]ed) to\b",
        r"\b(?:i|we) (?:do not|don't) feel comfortable\b",
        r"\b(?:i'd|i would|we'd|we would) (?:rather|prefer) not\b|\b(?:i|we) prefer not to\b",
        r"\b(?:i|we) (?:must|have to|need to|will have to|'ll have to) (?:respectfully )?"
        r"(?:decline|refuse)\b",
        r"\b(?:as|being) an? (?:ai|artificial intelligence|(?:large )?language model|"
        r"(?:ai|virtual) assistant)\b.{0,60}\b(?:can't|cannot|can not|unable|won't|not able)\b",
        r"\bagainst my (?:guidelines|policy|policies|programming|principles)\b",
        r"\b(?:this|that|your) request (?:violates|goes against|is against|cannot be)\b",
    ),
    "German": (
        rf"\b(?:(?:ich|wir) {_GERMAN_CAN}|{_GERMAN_CAN} (?:ich|wir))\b"
        rf"{_GAP}\b(?:nichts?|keine?[nrms]?)\b(?! genug){_GAP}(?:{_GERMAN_ACTS})\b",
        rf"\b(?:(?:ich|wir) {_GERMAN_CAN}|{_GERMAN_CAN} (?:ich|wir))\b"
        rf"{_GAP}\bnichts? {_GAP}(?:sagen|tun|machen)(?=[.!]|$)",
        rf"\bdass (?:ich|wir)\b{_GAP}\b(?:nicht|keine?n?)\b{_GAP}(?:{_GERMAN_ACTS}) "
        r"(?:kann|darf|können|dürfen)\b",
        r"\b(?:ich bin|wir sind|bin ich|sind wir)\b.{0,30}"
        r"\bnicht (?:in der lage|befugt|berechtigt)\b",
        r"\b(?:ist es mir|ist mir|ist uns|mir ist es|es ist mir|es ist uns|für mich)\b.{0,20}"
        r"\bnicht (?:möglich|erlaubt|gestattet)\b",
        rf"\b(?:ich|wir) (?:muss|müssen|möchte|werde)\b{_GAP}\b(?:ablehnen|verweigern)\b",
        rf"\b(?:lehne ich|ich lehne)\b{_GAP}\bab\b",
        r"\b(?:verstösst|widerspricht)\b.{0,10}\b(?:meine[nr]?|unsere[nr]?) "
        r"(?:richtlinien|grundsätze|regeln|vorgaben|prinzipien)",
    ),
    "French": (
        r"\b(?:je|nous) (?:ne |n')?(?:peux|puis|pourrai|pouvons|pourrons|saurais)"
        rf"(?: \w+){{0,2}}? pas\b(?! assez){_GAP}\b(?:{_FRENCH_ACTS})",
        r"\b(?:je ne suis|nous ne sommes)(?: \w+)? pas "
        r"(?:en mesure|autorisée?s?|habilitée?s?|capables?)\b",
        rf"\bde ne pas pouvoir\b{_GAP}\b(?:{_FRENCH_ACTS})",
        r"\bil m'est (?:impossible|interdit) d|\bpas possible pour (?:moi|nous) d|"
        r"\bne m'est pas possible d",
        r"\bje (?:dois|me vois contraint de|suis obligée? de) (?:refuser|décliner)\b",
        r"\bje refuse de\b",
        r"\bje préfère(?:rais)? ne pas\b",
        r"\b(?:à l'encontre de|enfreint|contraire à|viole) (?:mes|nos)\b",
    ),
    "Spanish": (
        r"\bno (?:puedo|podemos|podré|podremos|voy a|vamos a|poder|me es posible|soy capaz de|"
        r"estoy en (?:condiciones|posición) de|estoy autorizad[oa] (?:a|para)|"
        r"tengo (?:permitido|permiso para)|"
        rf"me está permitido|se me permite)\b{_GAP}\b(?:{_SPANISH_ACTS})",
        r"\b(?:debo|tengo que) (?:rechazar|declinar)\b|\bme niego a\b",
        r"\bprefiero no\b|\bno es posible para mí\b|\bme (?:es|resulta) imposible\b",
        r"\ben contra de (?:mis|nuestras|nuestros)\b|\binfringe (?:mis|nuestras)\b",
    ),
    "Italian": (
        r"\bnon (?:posso|possiamo|potrò|potremo|poter|sono in grado di|siamo in grado di|"
        r"sono nella posizione di|mi è (?:possibile|consentito|permesso)|sono autorizzat[oa] a|"
        r"ho il permesso di)\b"
        rf"{_GAP}\b(?:{_ITALIAN_ACTS})",
        r"\bdevo (?:rifiutare|declinare)\b|\bmi rifiuto di\b",
        r"\bpreferisco non\b|\bnon è possibile per me\b|\bmi è impossibile\b",
        r"\bcontro (?:le mie|i miei|le nostre) (?:linee|principi|regole|politiche)",
    ),
    "Portuguese": (
        r"\bnão (?:posso|podemos|poderei|consigo|conseguimos|vou|vamos|poder|"
        r"me é (?:possível|permitido)|sou capaz de|estou em condições de|estou autorizad[oa] a|"
        rf"tenho (?:permissão|autorização) para)\b{_GAP}\b(?:{_PORTUGUESE_ACTS})",
        r"\b(?:tenho d?e? ?(?:que )?|devo |preciso )(?:recusar|declinar)\b|\brecuso-me a\b",
        r"\bprefiro não\b|\bnão é possível para mim\b|\bme é impossível\b",
        r"\bcontra (?:as )?(?:minhas|nossas) (?:diretrizes|políticas|regras|normas)",
    ),
    "Dutch": (
        r"\b(?:(?:ik|wij|we) (?:kan|mag|kunnen|mogen|wil|zal|ga)|"
        r"(?:kan|mag|kunnen|mogen|wil|zal) (?:ik|wij|we))\b"
        rf"{_GAP}\b(?:niets?|geen)\b(?! genoeg){_GAP}\b(?:{_DUTCH_ACTS})\b",
        rf"\bdat (?:ik|wij|we)\b{_GAP}\b(?:niet|geen)\b{_GAP}"
        rf"\b(?:kan|mag|kunnen|mogen) (?:{_DUTCH_ACTS})\b",
        r"\b(?:ik ben|ben ik|wij zijn|we zijn)\b.{0,20}\bniet (?:in staat|bevoegd|gemachtigd)\b",
        r"\bvoor (?:mij|ons)\b.{0,15}\bniet mogelijk\b|\bniet mogelijk voor (?:mij|ons)\b",
        r"\bik (?:kan|mag|wil|zal) niet ingaan op\b",
        rf"\bik moet\b{_GAP}\b(?:weigeren|afwijzen)\b|\bik weiger\b",
        rf"\bik\b{_GAP}\bliever niet\b",
        r"\b(?:tegen|in strijd met) (?:mijn|onze) (?:richtlijnen|regels|principes|beleid)\b",
    ),
    "Polish": (
        r"\bnie (?:mogę|możemy|będę mógł|będę mogła|jestem w stanie|jesteśmy w stanie|"
        rf"wolno (?:mi|nam)|jestem upoważnion[ya] do|mam prawa)\b{_GAP}\b(?:{_POLISH_ACTS})",
        r"\b(?:muszę odmówić|odmawiam|wolę nie)\b",
        r"\bdla mnie (?:niemożliwe|nie(?: jest)? możliwe)\b",
        r"\bsprzeczne z (?:moimi|naszymi)\b",
    ),
    "Russian": (
        r"\bне (?:могу|можем|смогу|сможем|имею права|вправе|буду|уполномочен\w?)\b(?! не\b)"
        rf"{_GAP}\b(?:{_RUSSIAN_ACTS})",
        r"\b(?:я|мы) не в состоянии\b",
        r"\bдля (?:меня|нас) (?:это )?невозможно\b",
        r"\b(?:мне|нам) (?:запрещено|нельзя|не разрешено)\b",
        r"\bвынужден[аы]? отказать|\bотказываюсь\b",
        r"\bпредпоч(?:[её]л|ла) бы не\b|\bпредпочитаю не\b",
        r"\bпротиворечит (?:моим|нашим)\b",
        r"\bкак (?:искусственный интеллект|ии|языковая модель)\b.{0,40}\bне (?:могу|имею)\b",
    ),
    "Japanese": (
        rf"(?:{_JAPANESE_ACTS})[^。、!?\n]{{0,12}}?"
        r"(?:できません|出来ません|かねます|いたしません|なれません)(?!でした)",
        rf"(?:{_JAPANESE_ACTS})[^。、!?\n]{{0,12}}?できない(?:です)?(?:[。!]|$)",
        r"(?:それ|これ|そのような(?:こと|もの)|そういうこと)はできません",
        r"(?:答え|応え|応じ|教え)(?:られません|かねます)",
        r"お断り(?:し|いた|させ)|控えさせていただ",
        r"(?:ガイドライン|ポリシー|規約|方針)に(?:反し|違反し)",
    ),
    "Chinese": (
        r"(?:我们?|我們|恕|抱歉|[对對]不起|不好意思)[^。!?:;\n]{0,6}?"
        r"(?:无法|無法|不能|不会|不會|不可以|不便|不方便|[没沒]有?[权權]限|[没沒][办辦]法)"
        rf"(?!把|将|將)[^。!?:;,\n]{{0,10}}?(?:{_CHINESE_ACTS})",
        r"我(?:们|們)?(?:[帮幫]不了|[帮幫]不上|做不到)",
        r"我(?:们|們)?(?:必须|必須|不得不|只能|要|得)?(?:拒绝|拒絕)",
        r"[违違]反了?我(?:们|們)?的?(?:准则|準則|原则|原則|规定|規定|政策|指南)",
    ),
    "Korean": (
        rf"(?:{_KOREAN_ACTS}) 수(?:는|가)? ?없(?:습니다|어요|네요|다|음)",
        r"(?:도와 ?드리|답변(?:해 )?드리|대답하|말씀 ?드리|알려 ?드리|제공하|제공해 드리)기"
        r"(?:가|는)? ?어렵(?:습니다|네요)",
        r"거절(?:하겠|합니다|할 수밖에)|사양하겠",
        r"(?:제|저의|저희) (?:지침|정책|원칙|가이드라인)에 (?:어긋|위배|위반|반하)",
    ),
    "Arabic": (
        r"(?:لا (?:أستطيع|يمكنني|نستطيع|يمكننا)|لن (?:أستطيع|أتمكن|نتمكن)|غير قادر(?:ة|ين)? على)"
        rf"[^.!?:؛،,\n]{{0,30}}?(?:{_ARABIC_ACTS})",
        r"غير مسموح لي|\b(?:أرفض|أعتذر عن عدم)\b",
        r"(?:يتعارض مع|يخالف) (?:إرشاداتي|سياساتي|مبادئي|سياستنا)",
    ),
    "Hindi": (
        rf"(?:मैं|हम|मुझे)[^।!?,\n]{{0,60}}?(?:{_HINDI_ACTS})[^।!?,\n]{{0,25}}?"
        r"(?:नहीं (?:\S+ )?सक(?:ता|ती|ते)|असमर्थ|की अनुमति नहीं)",
        r"मुझे[^।!?,\n]{0,40}?(?:अस्वीकार|मना) करन",
        r"(?:मेरे|हमारे) (?:दिशानिर्देश|नियम|नीति)\S* के (?:विरुद्ध|खिलाफ)",
    ),
    "Turkish": (
        rf"\b(?:{_TURKISH_ACTS})y?[ae]m(?:[ae]m|[ıi]yoru[mz]|[ae]y[ıi]z|ayacağı[mz]|eyeceği[mz])\b",
        r"\breddetmek zorundayı|\breddediyoru[mz]\b|\b\w+m[ae]mayı tercih ederi[mz]\b",
        r"\b(?:ilkelerim|kurallarım|politikalarım|yönergelerim)(?:e|a|ize|ıza) aykırı\b",
    ),
}

_HINTS = {
    "English": r"n't|not\b|unable|declin|refus|against|violat|rather",
    "German": r"\b(?:nichts?|kein|lehne|ablehnen|verweigern|verstösst|widerspricht)",
    "French": r"\b(?:pas|impossible|interdit|refuse|décliner|encontre|enfreint|contraire|viole)",
    "Spanish": r"\b(?:no|rechazar|declinar|niego|contra|infringe|imposible)\b",
    "Italian": r"\b(?:non|rifiut|declinare|contro|impossibile)",
    "Portuguese": r"\b(?:não|recus|declinar|contra|impossível)",
    "Dutch": r"\b(?:niets?|geen|weiger|afwijzen|tegen|strijd)",
    "Polish": r"\b(?:nie|odm[óa]wi|sprzeczne)",
    "Russian": r"\b(?:не|нельзя|запрещено|отказ|противоречит|невозможно)",
    "Japanese": r"[\u3040-\u30ff]",
    "Chinese": r"[\u4e00-\u9fff]",
    "Korean": r"[\uac00-\ud7a3]",
    "Arabic": r"[\u0621-\u064a]",
    "Hindi": r"[\u0904-\u0939]",
    "Turkish": r"m|reddet|aykırı",
}
"""What every phrase of a language contains: a text without it is not searched in that language."""


@cache
def _searches() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    return tuple(
        (re.compile(_HINTS[language]), re.compile("|".join(f"(?:{p})" for p in phrases)))
        for language, phrases in PHRASES.items()
    )


_CONDITION = re.compile(
    r"\b(?:if|in case|falls|wenn|sollte|si|se|als(?= (?:ik|wij|we|u|jij|je|het|er)\b)|indien|"
    r"jeśli|jeżeli|если|إذا|यदि|अगर)\b|如果|若|假如|要是|もし"
)
_CLAUSE = re.compile(r"[.!?;:,\n。]|\b(?:but|aber|mais|pero|ma|mas|maar|ale|но)\b")
_QUOTATION = re.compile(
    r"(?<=\S)\s*(?:\"[^\"]{1,200}\"|[„“][^„“”\"]{1,200}[“”\"]|«[^»]{1,200}»|「[^」]{1,200}」)(?=\W*\w)"
)


def find_refusal(text: str) -> str:
    """Return the words of a folded text that refuse; an empty text if there are none."""
    if not text.startswith(("{", "[")):  # JSON puts everything in quotes
        text = _QUOTATION.sub(" ", text)
    for hint, refuses in _searches():
        for found in refuses.finditer(text) if hint.search(text) else ():
            if not _CONDITION.search(_CLAUSE.split(text[: found.start()])[-1]):
                return found[0].strip()
    return ""
