// Stands before the theme's search worker. A question is taken for its words: words that say nothing are left out, whole words
// are looked up by their stem, and only the last one, which may not be finished, also as a beginning.
(() => {
  const empty = new Set(
    ("a an and are as at be by can do does for from get have how i in into is it its let make me my need of on one only or own s " +
      "should so some that the their them then there these they this to use used using want was what when where which who why will with you your").split(" ")
  );
  const words = (question) => {
    if (/["+~^]/.test(question)) return question; // who knows lunr's signs means them
    const all = question.trim().split(/[\s,?!]+/).filter(Boolean);
    const kept = all.filter((word) => !empty.has(word.toLowerCase()));
    const stems = kept.map((word) => self.lunr.stemmer(new self.lunr.Token(word.toLowerCase())).toString());
    return stems.length ? [...stems.map((stem) => stem + "^2"), stems[stems.length - 1] + "*"].join(" ") : question;
  };
  const prepare = ({ type, data }) => {
    if (type === 0) data.config.fields.title.boost = 20; // not the thousand at which a word in a title outdoes any text
    return { type, data: type === 2 ? words(data) : data };
  };
  const listen = self.addEventListener;
  self.addEventListener = (kind, f, ...more) =>
    listen.call(self, kind, kind === "message" ? (event) => f({ data: prepare(event.data) }) : f, ...more);
})();
