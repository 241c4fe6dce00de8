// Light or dark before anything is painted: what was chosen here, or what the system says.
{
  const chosen = localStorage.getItem("narrows-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
