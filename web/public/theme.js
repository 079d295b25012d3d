// Sets the theme before the first paint, so that a dark page never flashes white. It is a separate file because the
// content security policy allows no inline script.
(() => {
  let choice = null;
  try {
    choice = JSON.parse(localStorage.getItem('svc.prefs') || '{}').state?.theme;
  } catch {}
  const dark =
    choice === 'dark' || (choice !== 'light' && !matchMedia('(prefers-color-scheme: light)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
