// What stands in the editor, for as long as the tab is open.

const KEY = "narrows-draft";

export const draft = () => sessionStorage.getItem(KEY) ?? "";
export const keepDraft = (sql) => sessionStorage.setItem(KEY, sql);

export function openInEditor(sql) {
  keepDraft(sql);
  location.hash = "#/editor";
}
