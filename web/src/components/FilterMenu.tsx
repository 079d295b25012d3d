import { ChevronDown, X } from 'lucide-react';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { Menu, MenuGroup, MenuItem, MenuLine } from '@/ui/Menu';
import { MenuButton } from '@/ui/MenuButton';

/** FilterMenu filters a list by one value. It shows the chosen value, and can remove the filter. */
export function FilterMenu({
  label,
  value,
  onChange,
  options,
}: {
  label: string;
  value: string | undefined;
  onChange(value: string | undefined): void;
  options: { value: string; label: string }[];
}) {
  const chosen = options.find((option) => option.value === value);
  return (
    <MenuButton
      trigger={(props) => (
        <Button
          {...props}
          size="sm"
          variant={value ? 'secondary' : 'ghost'}
          aria-label={`${label}: ${chosen?.label ?? value ?? 'any'}`}
          className={cx(value && 'text-accent')}
        >
          {chosen?.label ?? value ?? label}
          <ChevronDown className="size-3.5 text-ink-3" />
        </Button>
      )}
      menu={(place) => (
        <Menu {...place} label={label}>
          <MenuGroup title={label}>
            {options.map((option) => (
              <MenuItem
                key={option.value}
                checked={option.value === value}
                onSelect={() => onChange(option.value)}
              >
                {option.label}
              </MenuItem>
            ))}
          </MenuGroup>
          <MenuLine />
          <MenuItem icon={<X className="size-4" />} disabled={!value} onSelect={() => onChange(undefined)}>
            Any
          </MenuItem>
        </Menu>
      )}
    />
  );
}
