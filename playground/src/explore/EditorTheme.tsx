import { useGraphiQL, useGraphiQLActions, useMonaco } from '@graphiql/react';
import { useEffect } from 'react';

interface Palette {
  accent: string;
  comment: string;
  lineNumber: string;
  surface: string;
  variable: string;
}

const PALETTES: Record<'dark' | 'light', Palette> = {
  dark: { accent: '#8fd0c4', comment: '#8fbf7a', lineNumber: '#9aa5b4', surface: '#212a3b', variable: '#a9a5ff' },
  light: { accent: '#1d4f49', comment: '#00700a', lineNumber: '#4d5a57', surface: '#ffffff', variable: '#5a57c0' },
};

function themeOf(base: 'vs' | 'vs-dark', palette: Palette) {
  const { accent, surface } = palette;
  const tint = `${accent}22`;
  return {
    base,
    inherit: true,
    colors: {
      'editor.background': '#ffffff00',
      'scrollbar.shadow': '#ffffff00',
      'editorLineNumber.foreground': palette.lineNumber,
      'editorHoverWidget.background': surface,
      'editorSuggestWidget.background': surface,
      'editorSuggestWidget.selectedBackground': tint,
      'editorSuggestWidget.selectedForeground': accent,
      'editorWidget.background': surface,
      'menu.background': surface,
      'menu.selectionBackground': tint,
      'menu.selectionForeground': accent,
      'quickInput.background': surface,
      'quickInputList.focusBackground': tint,
      'list.hoverBackground': tint,
      'list.highlightForeground': accent,
      'list.focusHighlightForeground': accent,
      'textLink.foreground': accent,
      'textLink.activeForeground': accent,
      'editorLink.activeForeground': accent,
      focusBorder: accent,
    },
    rules: [
      { token: 'comment', foreground: palette.comment },
      { token: 'argument.identifier.gql', foreground: palette.variable },
    ],
  };
}

/**
 * Gives GraphiQL's editor themes our colours (its own comments and line numbers are too faint on dark), and keeps the
 * editors in step when the system changes its theme, which GraphiQL reads only once.
 */
export function EditorTheme() {
  const { setTheme } = useGraphiQLActions();
  const theme = useGraphiQL((state) => state.theme);
  const monaco = useMonaco((state) => state.monaco);

  useEffect(() => {
    monaco?.editor.defineTheme('graphiql-DARK', themeOf('vs-dark', PALETTES.dark));
    monaco?.editor.defineTheme('graphiql-LIGHT', themeOf('vs', PALETTES.light));
  }, [monaco]);

  useEffect(() => {
    if (theme !== null) return;
    const system = matchMedia('(prefers-color-scheme: dark)');
    const follow = () => setTheme(null);
    system.addEventListener('change', follow);
    return () => system.removeEventListener('change', follow);
  }, [theme, setTheme]);

  return null;
}
